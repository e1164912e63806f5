/** A quote: whatever is asked costs half a dollar. */
export const answered = () =>
  Promise.resolve({
    priceBookVersion: '1',
    currency: 'USD' as const,
    hold: '0.5',
    candidates: [{ sku: 'one', rule: 'a/rule', unit: 'token', price: '0.5', per: 1 as const }],
  })
