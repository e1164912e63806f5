import t from 'tap'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { managedBalanceAlerts } from '../../../src/app/accounts/alerts/manage.ts'
import { createManagedTenants } from '../../../src/app/accounts/managed-tenants.ts'
import { createManagedSettings } from '../../../src/app/accounts/settings.ts'
import { managedBudgets } from '../../../src/app/spending/budgets/status.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { catalog } from '../../../src/families/index.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { startWorld, TENANT } from '../support/world.ts'

/** The database is away from the moment at which a change of a setting is in the log. */

const world = await startWorld(t)

/** A log, and a database that answers only until the log has taken an event. */
function untilAppended() {
  let appended = 0
  const log: EventLog = {
    ...world.log,
    append: async (...given) => {
      const done = await world.log.append(...given)
      appended += 1
      return done
    },
  }
  const query = (...given: readonly unknown[]): unknown => {
    if (appended > 0) return Promise.reject(new Error('the database is away'))
    return Reflect.apply(world.pool.query.bind(world.pool), undefined, given)
  }
  return { log, db: { query } as unknown as Queryable, appended: () => appended }
}

function settingsOn({ log, db }: { readonly log: EventLog; readonly db: Queryable }) {
  const deps = { log, db, catalog, clock: systemClock }
  return createManagedSettings(
    {
      ...deps,
      markerSecret: 'secret-of-the-test',
      servedModels: () => Promise.resolve(undefined),
      doCallsHold: () => Promise.resolve(false),
      resolveHost: () => Promise.resolve([]),
      trustedTargets: [],
    },
    createManagedTenants(deps),
  )
}

const operator = {
  tenantId: 'ops',
  userId: 'ann',
  tokenId: 'token_ann',
  role: undefined,
  requestId: 'req_1',
}
const all = { kind: 'all' } as const

t.test('a change of budgets is answered with their status', async (t) => {
  const parts = untilAppended()
  const budget = { subject: { kind: 'tenant' }, currency: 'USD', hard: '5' } as const
  const wanted = () => ({
    timeZone: 'Asia/Kathmandu',
    budgets: [
      { ...budget, period: 'day' } as const,
      { ...budget, period: 'month', hard: '7.50' } as const,
    ],
  })
  const made = await settingsOn(parts).set(managedBudgets, all, operator, {
    tenantId: TENANT,
    wanted,
  })
  t.equal(parts.appended(), 1)
  t.match(made, {
    changed: true,
    shown: {
      revision: 1,
      timeZone: 'Asia/Kathmandu',
      budgets: [
        { period: 'day', hard: '5', spentPico: 0n, leftPico: 5_000_000_000_000n },
        { period: 'month', hard: '7.5', spentPico: 0n, leftPico: 7_500_000_000_000n },
      ],
    },
  })
})

t.test(
  'a wrong budget is refused in the words of the setting, and nothing is appended',
  async (t) => {
    const parts = untilAppended()
    const refused = settingsOn(parts).set(managedBudgets, all, operator, {
      tenantId: TENANT,
      wanted: () => ({ timeZone: 'Mars/Olympus', budgets: [] }),
    })
    await t.rejects(refused, { code: 'setting_invalid' })
    t.equal(parts.appended(), 0)
  },
)

t.test('a change of balance alerts is answered with what is low', async (t) => {
  const parts = untilAppended()
  const made = await settingsOn(parts).set(managedBalanceAlerts, all, operator, {
    tenantId: TENANT,
    wanted: () => ({
      thresholds: [{ currency: 'USD', below: '1' }],
      webhookUrl: undefined,
      rotateSecret: false,
    }),
  })
  t.equal(parts.appended(), 1)
  t.match(made, { changed: true, shown: { revision: 1, low: [] } })
})
