# The part of the guest that is ours: entry points, messages, services, output.
# SPDX-License-Identifier: Apache-2.0
MRuby::Gem::Specification.new('mruby-inro') do |spec|
  spec.license = 'Apache-2.0'
  spec.authors = 'inro developers'
  spec.summary = 'entry points and services of the inro sandbox'
end
