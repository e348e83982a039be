# The entry point's call: keywords stay keywords, which C cannot say. The guest takes this method away at boot
# and calls it by itself.
#
# SPDX-License-Identifier: Apache-2.0

module Inro
  def self.dispatch(target, args, kwargs)
    kwargs.empty? ? target.call(*args) : target.call(*args, **kwargs)
  end
end
