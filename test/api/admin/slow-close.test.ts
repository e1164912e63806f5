import t from 'tap'
import { DomainError } from '../../../src/kernel/errors.ts'
import { noManagement, startApp } from '../support/app.ts'

/** A close that takes longer than its request waits: it goes on, and its end is written down. */

const { statements } = noManagement
const of = { month: '2026-02', currency: 'USD' } as const
const blocked = new DomainError('period_blocked', '2026-02 cannot be closed yet', { blockers: [] })

t.test('202 while a month is being closed, and its failure comes to the log', async (t) => {
  const ends: ((error: Error) => void)[] = []
  const close = () => new Promise<never>((_, reject) => ends.push(reject))
  const { app, logged } = await startApp({ accounts: { statements: { ...statements, close } } })
  t.teardown(() => app.close())
  const answer = await app.inject({
    method: 'POST',
    url: '/api/admin/tenants/acme/periods',
    headers: { authorization: 'Bearer adm-one' },
    payload: of,
  })
  t.equal(answer.statusCode, 202, answer.body)
  t.match(answer.json(), {
    success: true,
    data: { object: 'period', tenant_id: 'acme', ...of, state: 'closing' },
  })
  t.equal(ends.length, 1)
  ends[0]?.(blocked)
  await new Promise((resolve) => setImmediate(resolve))
  t.match(
    logged()
      .split('\n')
      .find((line) => line.includes('a close failed later')),
    /"tenantId":"acme"[^]*2026-02 cannot be closed yet|2026-02 cannot be closed yet[^]*"tenantId":"acme"/,
  )
})
