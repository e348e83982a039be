# Output: the streams, and what of them is rare enough to be Ruby (the rest is src/output.c).
#
# SPDX-License-Identifier: Apache-2.0

class IO
  attr_accessor :sync
  attr_reader :fileno

  def initialize(fd, mode = "w")
    unless fd == 1 || fd == 2
      raise ArgumentError, "inro IO only supports fd 1 (stdout) or fd 2 (stderr)"
    end
    raise ArgumentError, 'inro IO only supports mode "w"' unless mode == "w"
    @fileno = fd
    @sync = true
  end

  alias to_i fileno

  def printf(format, *objects)
    write(sprintf(format, *objects))
    nil
  end

  def putc(object)
    write(object.is_a?(String) ? object.byteslice(0, 1) : (object.to_i & 0xff).chr)
    object
  end

  def flush
    self
  end

  def tty?
    false
  end
  alias isatty tty?

  def closed?
    false
  end
end

STDOUT = IO.new(1)
STDERR = IO.new(2)
$stdout = STDOUT
$stderr = STDERR

module Kernel
  def printf(*objects)
    $stdout.printf(*objects)
  end

  def putc(object)
    $stdout.putc(object)
    nil
  end
end
