# An entry point: a constant that answers to call. Preload this file, then run Receipt with arguments.
PRICES = { "tea" => 350, "coffee" => 420, "cake" => 500 }

Receipt = lambda do |order, currency: "cent"|
  total = order.sum { |item, count| PRICES.fetch(item) * count }
  "#{total} #{currency}"
end
