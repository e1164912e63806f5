import type { StandingTable } from '../engine/standing.ts'

/** What of the price books an auditor compares with the log: all of it. */
export const priceTables = {
  books: {
    name: 'prices.books',
    columns: {
      version: 'text',
      effective_from: 'time',
      published_at: 'time',
      digest: 'text',
      published_by: 'text',
      position: 'text',
    },
  },
  entries: {
    name: 'prices.entries',
    columns: {
      version: 'text',
      n: 'text',
      sku: 'text',
      currency: 'text',
      unit: 'text',
      price: 'amount',
      per: 'text',
      demonstration: 'text',
    },
  },
} as const satisfies Readonly<Record<string, StandingTable>>
