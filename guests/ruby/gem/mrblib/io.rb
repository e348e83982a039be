# Output: $stdout, $stderr and the Kernel methods that use them.
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

  def write(*objects)
    bytes = 0
    objects.each { |object| bytes += Inro.write(@fileno, Inro.text(object)) }
    bytes
  end

  def <<(object)
    write(object)
    self
  end

  def print(*objects)
    write(*objects)
    nil
  end

  def puts(*objects)
    all = ""
    Inro.lines(objects, all, [])
    write(objects.empty? ? "\n" : all)
    nil
  end

  def p(*objects)
    objects.each { |object| write(object.inspect + "\n") }
    objects.size > 1 ? objects : objects[0]
  end

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

module Inro
  # A String, also when the object's to_s gives none; long ones are not copied.
  def self.text(object)
    object.is_a?(String) ? object : "#{object}"
  end

  # Appends each object as a line; arrays are flattened, and one that contains itself is named.
  def self.lines(objects, all, seen)
    objects.each do |object|
      if object.is_a?(Array)
        if seen.any? { |outer| outer.equal?(object) }
          all << "[...]\n"
        else
          lines(object, all, seen + [object])
        end
      else
        line = text(object)
        all << line
        all << "\n" unless line.end_with?("\n")
      end
    end
  end
end

STDOUT = IO.new(1)
STDERR = IO.new(2)
$stdout = STDOUT
$stderr = STDERR

module Kernel
  def print(*objects)
    $stdout.print(*objects)
  end

  def puts(*objects)
    $stdout.puts(*objects)
  end

  def p(*objects)
    $stdout.p(*objects)
  end

  def printf(*objects)
    $stdout.printf(*objects)
  end

  def putc(object)
    $stdout.putc(object)
    nil
  end

  def warn(*objects)
    $stderr.puts(*objects) unless objects.empty?
    nil
  end
end
