# mruby's own build description, used twice: "native" (its compiler mrbc, and the benchmark's peer) from the
# sources as they are, and "guest" (wasm) from the restructured ones.
#
# INRO_MRUBY=native|guest, INRO_MRBC=path of mrbc, INRO_ROOT=this project's folder
#
# SPDX-License-Identifier: Apache-2.0

# Pure compute. Nothing here opens, connects, sleeps, or asks the environment.
PURE_GEMS = %w[
  compiler array-ext enum-ext hash-ext numeric-ext object-ext proc-ext range-ext string-ext symbol-ext class-ext
  compar-ext kernel-ext toplevel-ext sprintf error catch metaprog struct data set math fiber enumerator enum-lazy
  pack bigint rational
].freeze

def pure(conf)
  PURE_GEMS.each { |name| conf.gem core: "mruby-#{name}" }
  conf.cc.defines << 'MRB_UTF8_STRING'
end

if ENV['INRO_MRUBY'] == 'native'
  MRuby::Build.new('host') do |conf|
    conf.toolchain :gcc
    pure(conf)
    conf.gem core: 'mruby-bin-mrbc'
    conf.cc.flags << '-O2'
  end
else
  MRuby::Build.new('host') do |conf|
    conf.toolchain :gcc
    conf.mrbcfile = ENV.fetch('INRO_MRBC')
    conf.disable_libmruby
    # This build only scans sources for symbols; it does not know what an import is.
    conf.cc.flags << '-Wno-attributes'
  end

  MRuby::CrossBuild.new('wasm') do |conf|
    conf.toolchain :clang
    conf.cc.command = 'clang-19'
    conf.linker.command = 'clang-19'
    conf.archiver.command = 'llvm-ar-19'
    conf.cc.flags = %w[--target=wasm32-wasi -O2 -mbulk-memory -fno-exceptions -ffunction-sections -std=gnu11]
    conf.cc.include_paths << "#{ENV.fetch('INRO_ROOT')}/src"
    conf.cc.defines += %w[
      MRB_INT64 MRB_NAN_BOXING MRB_ARY_NO_EMBED MRB_NO_STDIO MRB_USE_VM_SWITCH_DISPATCH MRB_STR_LENGTH_MAX=0
      MRB_METHOD_CACHE_SIZE=128 POOL_PAGE_SIZE=2000
    ]
    pure(conf)
    conf.gem "#{ENV.fetch('INRO_ROOT')}/guests/ruby/gem"
  end
end
