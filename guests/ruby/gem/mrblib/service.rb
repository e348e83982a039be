# What scripts see of the host: proxies, handles and the errors of services.
#
# SPDX-License-Identifier: Apache-2.0

module Inro
  class ServiceError < RuntimeError
    class Disconnected < ServiceError; end
  end
  class NoServiceError < ServiceError; end
  class ServiceArgumentError < ServiceError; end
  class WireError < RuntimeError; end
  class HandleTableExhausted < WireError; end
  class BytecodeError < ScriptError; end
  class UndefinedEntrypointError < NameError; end

  # The entry point's call: keywords stay keywords.
  def self.dispatch(target, args, kwargs)
    kwargs.empty? ? target.call(*args) : target.call(*args, **kwargs)
  end
end
