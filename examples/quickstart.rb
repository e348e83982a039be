# A receipt, written by somebody you do not know. It sees KV::Lookup and Log::Sink, and nothing else of your program.
order = { "tea" => 2, "cake" => 1, "gold" => 3 }
$receipts = ($receipts || 0) + 1 # always 1: no run sees anything of another

total = 0
order.each do |item, count|
  begin
    cents = KV::Lookup.call(item) * count
    puts "#{item.ljust(6)} #{count} x  #{cents.to_s.rjust(5)}"
    total += cents
  rescue Inro::ServiceError => error
    Log::Sink.write(:warning, "#{item}: #{error.message}")
  end
end
Log::Sink.write(:info, "receipt number #{$receipts}")

{ total: total, currency: "EUR cent" }
