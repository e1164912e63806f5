import t from 'tap'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { WhatIf } from '../../../src/app/finance/prices/what-if.ts'
import { noPriceBooks, startApp } from '../support/app.ts'

/** A ledger whose tenants never end and have settled nothing. */
let asked = 0
/** Of its queries the time is over at this one. */
const LAST = 5
const time = new AbortController()
const endless = {
  query: ({ name }: { readonly name: string }) => {
    asked += 1
    if (asked === LAST) time.abort(new DOMException('it took too long', 'TimeoutError'))
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ tenant_id: `t_${asked}_${n}` }))
    const answer = { rows: name === 'ledger.tenants' ? rows : [] }
    return new Promise((resolve) => setImmediate(resolve, answer))
  },
} as unknown as Queryable

t.test('422 query_too_long when the rating takes longer than a query may', async (t) => {
  const { app } = await startApp({
    accounts: {
      priceBooks: {
        ...noPriceBooks,
        whatIf: (_reach, { fromMs, tenantId }) =>
          Promise.resolve(
            new WhatIf(
              { pool: endless, log: { readStream: () => Promise.resolve([]) } },
              {
                book: { version: 'v1', lookup: () => undefined },
                fromMs,
                toMs: fromMs + 1,
                tenantId,
                signal: time.signal,
              },
            ),
          ),
      },
    },
  })
  t.teardown(() => app.close())
  const answer = await app.inject({
    url: '/api/admin/price-books/v1/what-if?from=2026-01-01',
    headers: { authorization: 'Bearer adm-one' },
  })
  t.equal(answer.statusCode, 422, answer.body)
  t.match(answer.json(), {
    success: false,
    message: /takes too long: ask for a shorter time range, or for one tenant with tenant_id/,
    error: { code: 'query_too_long' },
  })
  t.ok(asked >= LAST && asked <= LAST + 1, `${asked} queries`)
})
