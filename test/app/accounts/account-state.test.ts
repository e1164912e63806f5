import { OrderedMap } from 'immutable'
import t from 'tap'
import { readSettings } from '../../../src/app/accounts/account-facts.ts'
import { readAccountState, rememberAccount } from '../../../src/app/accounts/account-state.ts'
import {
  type AccountCommandDeps,
  addUser,
  decideOnAccount,
  openTenant,
} from '../../../src/app/accounts/account-commands.ts'
import { usersOf } from '../../../src/app/accounts/users.ts'
import { setSetting } from '../../../src/app/accounts/settings.ts'
import { accountDecider } from '../../../src/domain/account/decider.ts'
import { type AccountUsers, MAX_USERS } from '../../../src/domain/account/users.ts'
import { type AccountEvent, accountStream } from '../../../src/domain/account/events.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import type { EventLog, NewEvent } from '../../../src/eventlog/log/types.ts'
import { catalog } from '../../../src/families/index.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { accessProjection } from '../../../projections/access/projection.ts'
import { createAccountFacts } from '../../../src/app/accounts/account-facts.ts'
import { testEventLog } from '../../helpers/eventstore.ts'
import { applied, testPool } from '../../projections/support/database.ts'

const store = await testEventLog()
const other = createEventLog({ url: store.url, namespace: store.namespace })
t.teardown(async () => {
  await other.close()
  await store.close()
})

const at = '2026-01-02T03:04:05.000Z'
const correlationId = 'test'

/** A log as one process has it, whose reads are counted. */
function processOn(log: EventLog) {
  const read = { calls: 0, events: 0 }
  const counted: EventLog = {
    ...log,
    readStream: async (stream, options) => {
      const events = await log.readStream(stream, options)
      read.calls += 1
      read.events += events.length
      return events
    },
  }
  const deps: AccountCommandDeps = {
    log: counted,
    catalog,
    clock: systemClock,
    correlationId,
    actor: 'a',
  }
  return { deps, read }
}

const budgetsOf = (hard: number) => ({
  timeZone: undefined,
  budgets: [
    { subject: { kind: 'tenant' }, currency: 'USD', period: 'day', hard: String(hard) } as const,
  ],
})

/** An account whose budgets were set this often before. */
async function oldAccount(tenantId: string, times: number): Promise<void> {
  const set = (revision: number): AccountEvent => ({
    type: 'BudgetsSet',
    data: { tenantId, revision, ...budgetsOf(revision), timeZone: 'UTC', setAt: at },
  })
  await openTenant(processOn(store.log).deps, { tenantId, name: tenantId })
  const events = Array.from({ length: times }, (_, n): NewEvent => {
    const metadata = { correlationId, commandId: `old-${n}`, tenantId, schemaVersion: 1 }
    return { ...set(n + 1), id: crypto.randomUUID(), metadata }
  })
  for (let from = 0; from < times; from += 500)
    await store.log.append(accountStream(tenantId), events.slice(from, from + 500), BigInt(from))
}

void t.test('a command reads only the events appended since the last read', async (t) => {
  const tenantId = 'tenant_old'
  await oldAccount(tenantId, 1_700)
  const { deps, read } = processOn(store.log)
  await setSetting(deps, 'budgets', { tenantId, wanted: budgetsOf(1) })
  t.equal(read.events, 1_701, 'the first one reads all')
  t.ok(read.calls <= 4, 'in pages')
  read.events = 0
  for (let n = 2; n < 12; n += 1) {
    await setSetting(deps, 'budgets', { tenantId, wanted: budgetsOf(n) })
    await addUser(deps, { tenantId, userId: `u${n}`, name: 'U' })
    await readSettings(deps, tenantId)
    await usersOf(deps, tenantId)
  }
  t.equal(read.events, 0, 'what this process appended is not read again')
  const { budgets } = await readSettings(deps, tenantId)
  t.match(budgets, { revision: 1_711, budgets: [{ hard: '11' }] })
})

void t.test('a process reads an account from the read model and the events after it', async (t) => {
  const tenantId = 'tenant_stored'
  await oldAccount(tenantId, 1_200)
  const pool = await testPool(t)
  const past = await store.log.readStream(accountStream(tenantId), { limit: 1_100 })
  await applied(t, pool, past, [accessProjection], 300)
  const { rows } = await pool.query('select from access.accounts')
  t.equal(rows.length, 2, 'the settings that later ones replaced are not stored')
  const whole = await readAccountState(processOn(store.log).deps, tenantId)
  const { deps, read } = processOn(store.log)
  t.same(await readAccountState({ ...deps, db: pool }, tenantId), whole)
  t.equal(read.events, 101)
  const first = processOn(store.log)
  await setSetting({ ...first.deps, db: pool }, 'budgets', { tenantId, wanted: budgetsOf(1) })
  t.equal(first.read.events, 101)
  const { log } = processOn(store.log).deps
  const { budgets } = await createAccountFacts({ log, db: pool }).of(tenantId)
  t.equal(budgets?.revision, 1_201)

  await pool.query('drop table access.accounts')
  const without = processOn(store.log)
  const { settings } = await readAccountState({ ...without.deps, db: pool }, tenantId)
  t.equal(settings.budgets?.revision, 1_201, 'the log has all where the read model has nothing')
  t.equal(without.read.events, 1_202)
})

void t.test('commands and reads see the appends of another process at once', async (t) => {
  const tenantId = 'tenant_shared'
  const [one, two] = [processOn(store.log).deps, processOn(other).deps]
  await openTenant(one, { tenantId, name: tenantId })
  for (let n = 0; n < 5; n += 1) {
    await addUser(one, { tenantId, userId: `one${n}`, name: 'U' })
    t.same((await usersOf(two, tenantId)).length, 2 * n + 1)
    await addUser(two, { tenantId, userId: `two${n}`, name: 'U' })
    await t.rejects(addUser(one, { tenantId, userId: `two${n}`, name: 'other' }), {
      code: 'user_exists',
    })
  }
  const both = [one, two].flatMap((deps) =>
    Array.from({ length: 5 }, (_, n) =>
      setSetting(deps, 'budgets', { tenantId, wanted: budgetsOf(n) }),
    ),
  )
  await Promise.all(both)
  const fresh = processOn(store.log)
  t.same(await readAccountState(one, tenantId), await readAccountState(fresh.deps, tenantId))
  t.same(await readAccountState(two, tenantId), await readAccountState(fresh.deps, tenantId))
})

void t.test('a cached account that the log does not have is read again', async (t) => {
  const tenantId = 'tenant_restored'
  const { deps } = processOn(store.log)
  await openTenant(deps, { tenantId, name: tenantId })
  const state = await readAccountState(deps, tenantId)
  rememberAccount(deps, tenantId, { state: { ...state, settings: {} }, revision: 40n })
  await addUser(deps, { tenantId, userId: 'u', name: 'U' })
  t.same(
    (await usersOf(deps, tenantId)).map(({ userId }) => userId),
    ['u'],
  )
})

void t.test('a refused command leaves the cached account unchanged', async (t) => {
  const tenantId = 'tenant_refused'
  const { deps } = processOn(store.log)
  await openTenant(deps, { tenantId, name: tenantId })
  await t.rejects(
    decideOnAccount(deps, {
      kind: 'set-setting',
      setting: 'budgets',
      tenantId,
      wanted: budgetsOf(-1),
      at,
    }),
    { code: 'setting_invalid' },
  )
  t.equal((await readAccountState(deps, tenantId)).settings.budgets, undefined)
})

void t.test('a tenant has a bounded number of users', async (t) => {
  const { initial, decide } = accountDecider
  const user = (n: number) => ({
    tenantId: 't',
    userId: `u${n}`,
    name: 'U',
    addedAs: 'U',
    addedAt: at,
  })
  const full: AccountUsers = OrderedMap(
    Array.from({ length: MAX_USERS }, (_, n) => [`u${n}`, user(n)] as const),
  )
  const add = (userId: string, users: AccountUsers) =>
    decide(
      { kind: 'add-user', tenantId: 't', userId, name: 'U', at },
      { ...initial, name: 'T', users },
    )
  t.throws(() => add('one-more', full), { code: 'too_many_users' })
  t.same(add('u1', full), [], 'a repetition changes nothing')
  t.equal(add('u0', full.rest()).length, 1)
})
