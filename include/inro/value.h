/* The one dynamic value: what scripts return, what services receive and answer.
 *
 * A value is a tree with one owner. Constructors give an owned root; pushing it into an array or a map hands
 * it over; readers lend `const` views into the tree that die with their root. Nothing is shared, nothing is
 * counted, so a value may be read from many threads at once and freed by one.
 *
 * Depth is at most INRO_VALUE_DEPTH_MAX, a message between host and guest at most INRO_MESSAGE_BYTES_MAX.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_VALUE_H
#define INRO_VALUE_H

#include <inro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INRO_VALUE_DEPTH_MAX 128
#define INRO_MESSAGE_BYTES_MAX 16777216u /* 16 MiB */

/* A host object that a guest may call; see service.h. */
typedef struct inro_object inro_object;

/* One dynamic value. */
typedef struct inro_value inro_value;

/* What a value is. TEXT is valid UTF-8, BYTES is any bytes, OBJECT is a host object (in the guest: a handle).
 */
typedef enum inro_value_type {
    INRO_VALUE_NIL = 0,
    INRO_VALUE_BOOL = 1,
    INRO_VALUE_INT = 2,
    INRO_VALUE_FLOAT = 3,
    INRO_VALUE_TEXT = 4,
    INRO_VALUE_BYTES = 5,
    INRO_VALUE_SYMBOL = 6,
    INRO_VALUE_ARRAY = 7,
    INRO_VALUE_MAP = 8,
    INRO_VALUE_OBJECT = 9
} inro_value_type;

/* Makes nil. Answers NULL when there is no memory.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_nil(void);

/* Makes a boolean. Answers NULL when there is no memory.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_bool(bool flag);

/* Makes a 64-bit integer. Answers NULL when there is no memory.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_int(int64_t number);

/* Makes a float; infinities and -0.0 are kept, a NaN becomes the one canonical NaN.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_float(double number);

/* Makes text from a copy of `text`. Bytes that are not UTF-8 give a BYTES value instead, nothing is lost.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_text(inro_str text);

/* Makes bytes from a copy of `bytes`; NULs and invalid UTF-8 are kept.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_bytes(inro_bytes bytes);

/* Makes a symbol from a copy of `name`. Answers NULL also when `name` is not UTF-8.
 * Expected: NULL on no memory or a name that is not UTF-8.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_symbol(inro_str name);

/* Makes an empty array.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_array(void);

/* Makes an empty map. Keys may be of any type; order of insertion is kept.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_map(void);

/* Makes a value that stands for `object` and holds a reference of its own to it.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_new_object(inro_object *object);

/* Copies a whole tree; the copy is owned by the caller and independent of every other value's life.
 * Expected: NULL on no memory.   Threads: any.   Since: 0.1. */
INRO_API inro_value *inro_value_copy(const inro_value *value);

/* Frees a root and all below it. NULL is fine. Never call it on a view that a reader lent.
 * Expected: cannot fail.   Threads: the owner's.   Since: 0.1. */
INRO_API void inro_value_free(inro_value *value);

/* Appends `item` to `array` and takes it, also on failure (it is freed then; a NULL item fails so that
 * constructors can be nested without a check between).
 * Expected: INRO_ERR_TYPE, INRO_ERR_MEMORY, INRO_ERR_LIMIT (depth).   Threads: the owner's.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_value_array_push(inro_value *array, inro_value *item);

/* Appends the pair and takes both, also on failure (as inro_value_array_push). An equal key is not looked
 * for: a map from the library has each key once, a map you build is sent as you built it, last one wins.
 * Expected: INRO_ERR_TYPE, INRO_ERR_MEMORY, INRO_ERR_LIMIT (depth).   Threads: the owner's.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_value_map_put(inro_value *map, inro_value *key, inro_value *value);

/* The type; NULL counts as nil.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_value_type inro_value_get_type(const inro_value *value);

/* The name of a type ("text", "map"); "unknown" for a number that is none.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const char *inro_value_type_name(inro_value_type type);

/* The boolean, or false when the value is none.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API bool inro_value_get_bool(const inro_value *value);

/* The integer, or 0 when the value is none.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API int64_t inro_value_get_int(const inro_value *value);

/* The float (an integer is converted), or 0 when the value is neither.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API double inro_value_get_float(const inro_value *value);

/* The text of a TEXT or SYMBOL, else {NULL, 0}. The view dies with the value's root.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_str inro_value_get_text(const inro_value *value);

/* The bytes of TEXT, BYTES or SYMBOL, else {NULL, 0}. The view dies with the value's root.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_bytes inro_value_get_bytes(const inro_value *value);

/* The host object of an OBJECT, else NULL. Lent: take inro_object_ref to keep it.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_object *inro_value_get_object(const inro_value *value);

/* The number of items (ARRAY), pairs (MAP) or bytes (TEXT, BYTES, SYMBOL); 0 for all else.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API size_t inro_value_length(const inro_value *value);

/* The item at `index`, or NULL when `array` is no array or the index is past its end.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_value *inro_value_array_at(const inro_value *array, size_t index);

/* The key of the pair at `index`, in order of insertion, or NULL (as inro_value_array_at).
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_value *inro_value_map_key_at(const inro_value *map, size_t index);

/* The value of the pair at `index`, in order of insertion, or NULL (as inro_value_array_at).
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_value *inro_value_map_value_at(const inro_value *map, size_t index);

/* The value of the last pair whose key is the text or the symbol `name`, or NULL.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_value *inro_value_map_get(const inro_value *map, inro_str name);

/* Whether two values are alike: same type and content, arrays in order, maps in any order; NaN equals NaN,
 * -0.0 differs from 0.0, an integer differs from a float, objects are compared by identity.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API bool inro_value_equals(const inro_value *left, const inro_value *right);

/* Parses one JSON text (RFC 8259, UTF-8, nothing but white space after it) into an owned value.
 *
 * Object keys become text; integers within 64 bits become INT, other numbers FLOAT; duplicate keys are
 * refused. Depth and size are bounded by INRO_VALUE_DEPTH_MAX and INRO_MESSAGE_BYTES_MAX.
 * Expected: INRO_ERR_SYNTAX (with line and column), INRO_ERR_LIMIT.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_value_from_json(inro_str json, inro_value **out, inro_error *err);

/* Writes a value as compact JSON: *out gets NUL-terminated text to be freed with inro_text_free, *length
 * (may be NULL) its bytes without the NUL.
 *
 * Symbols become strings, symbol and scalar keys become strings, bytes become {"$bytes":"base64..."}.
 * NaN, infinities and objects have no JSON form and are refused.
 * Expected: INRO_ERR_TYPE (naming the value), INRO_ERR_MEMORY.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_value_to_json(const inro_value *value, char **out, size_t *length,
                                                        inro_error *err);

/* Writes a value as Ruby's `inspect` does ({a: 1, "b" => [nil, 2.0]}); an object is written #<Handle>.
 *
 * The text is printable: control characters, also inside text, are escaped. Out as inro_value_to_json.
 * Expected: INRO_ERR_MEMORY.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_value_inspect(const inro_value *value, char **out, size_t *length,
                                                        inro_error *err);

#ifdef __cplusplus
}
#endif

#endif
