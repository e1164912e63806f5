import t from 'tap'
import {
  ACCOUNT_FACTS_KNOWN_FOR_MS,
  createAccountFacts,
} from '../../../../src/app/accounts/account-facts.ts'
import { createTenantPrices } from '../../../../src/app/finance/prices/tenant-prices.ts'
import type { AccountEvent } from '../../../../src/domain/account/events.ts'
import type { PriceEntry } from '../../../../src/domain/pricing/events.ts'
import { priceBookFromPublished } from '../../../../src/domain/pricing/price-book.ts'
import type { RecordedEvent } from '../../../../src/eventlog/log/types.ts'

const entry: PriceEntry = { sku: 'a', currency: 'USD', unit: 'token', per: 1_000_000, price: '2' }
const at = '2026-01-02T03:04:05.000Z'

/** One tenant's account in a log of which every reading is counted and may be held or fail. */
function scene() {
  let nowMs = 1_000
  let book = priceBookFromPublished({ version: 'v1', entries: [entry] })
  const account: RecordedEvent[] = []
  const state = { reads: 0, failure: undefined as Error | undefined, hold: Promise.resolve() }
  const record = (event: AccountEvent): RecordedEvent => {
    const recorded = {
      ...event,
      id: `event-${account.length}`,
      stream: 'account-t1',
      revision: BigInt(account.length),
      position: BigInt(account.length * 100),
      recordedAt: new Date(at),
      metadata: { schemaVersion: 1, correlationId: 'test', commandId: 'test' },
    }
    account.push(recorded)
    return recorded
  }
  const setTo = (revision: number, multiplier?: string): RecordedEvent =>
    record({
      type: 'AccountPricesSet',
      data: {
        tenantId: 't1',
        revision,
        ...(multiplier === undefined ? {} : { multiplier }),
        prices: [],
        setAt: at,
      },
    })
  record({ type: 'TenantOpened', data: { tenantId: 't1', name: 'T', openedAt: at } })
  const facts = createAccountFacts(
    {
      log: {
        readStream: async (stream, options = {}) => {
          state.reads += 1
          const { from = 0n, limit = Infinity } = options
          const found = stream === 'account-t1' ? account.slice(Number(from)).slice(0, limit) : []
          await state.hold
          if (state.failure) throw state.failure
          return found
        },
      },
    },
    { nowMs: () => nowMs },
  )
  const prices = createTenantPrices(
    { current: () => Promise.resolve(book), renew: () => undefined },
    facts,
  )
  return {
    prices,
    noticed: facts.noticed,
    state,
    setTo,
    record,
    priceOf: async (tenant = 't1') => (await prices.of(tenant)).lookup('a', 'USD')?.price,
    pass: (ms: number) => void (nowMs += ms),
    publish: (price: string) => {
      book = priceBookFromPublished({ version: 'v2', entries: [{ ...entry, price }] })
    },
  }
}

t.test('a tenant without account prices has the list prices', async (t) => {
  const { prices, noticed, setTo, state } = scene()
  t.equal(await prices.of('t1'), await prices.current())
  t.equal(await prices.of('unknown'), await prices.current())
  const reads = state.reads
  await Promise.all(Array.from({ length: 50 }, () => prices.of('t1')))
  t.equal(state.reads, reads, 'kept in memory')
  noticed(setTo(1, '0.5'))
  noticed(setTo(2))
  t.equal(await prices.of('t1'), await prices.current(), 'and again after they were cleared')
})

t.test('concurrent reads of a tenant’s prices share one read and one view', async (t) => {
  const { prices, setTo, state, priceOf } = scene()
  setTo(1, '0.5')
  const views = await Promise.all(Array.from({ length: 20 }, () => prices.of('t1')))
  t.equal(state.reads, 1)
  t.equal(new Set(views).size, 1)
  t.equal(await priceOf(), '1')
  t.equal(await priceOf('t2'), '2', 'another tenant pays the list')
})

t.test('a price event applies at once, and also to another price book', async (t) => {
  const { noticed, setTo, priceOf, publish, state } = scene()
  t.equal(await priceOf(), '2')
  noticed(setTo(1, '0.25'))
  t.equal(await priceOf(), '0.5')
  publish('4')
  t.equal(await priceOf(), '1')
  noticed(setTo(2, '3'))
  t.equal(await priceOf(), '12')
  t.equal(state.reads, 1, 'the event says all of it')
})

t.test('a change that was not notified applies within half a minute', async (t) => {
  const { setTo, priceOf, pass } = scene()
  t.equal(await priceOf(), '2')
  setTo(1, '0.5')
  pass(ACCOUNT_FACTS_KNOWN_FOR_MS - 1)
  t.equal(await priceOf(), '2')
  pass(1)
  t.equal(await priceOf(), '1')
})

t.test('a change that is notified during a read is not lost', async (t) => {
  const { noticed, setTo, priceOf, state } = scene()
  let go = (): void => undefined
  state.hold = new Promise<void>((resolve) => (go = resolve))
  const asked = priceOf()
  noticed(setTo(1, '0.5'))
  go()
  t.equal(await asked, '1')
  t.equal(await priceOf(), '1')
})

t.test('an event that arrives late restores no old prices', async (t) => {
  const { noticed, setTo, priceOf } = scene()
  const first = setTo(1, '0.5')
  setTo(2, '0.25')
  t.equal(await priceOf(), '0.5')
  noticed(first)
  t.equal(await priceOf(), '0.5')
})

t.test('unreadable account prices refuse the call instead of using list prices', async (t) => {
  const { setTo, priceOf, pass, state } = scene()
  setTo(1, '0.5')
  state.failure = new Error('the log is away')
  await t.rejects(priceOf(), state.failure)
  state.failure = undefined
  pass(100)
  t.equal(await priceOf(), '1')
  state.failure = new Error('the log is away')
  pass(ACCOUNT_FACTS_KNOWN_FOR_MS - 1)
  t.equal(await priceOf(), '1', 'what is known serves on for a while')
  pass(1)
  await t.rejects(priceOf(), state.failure)
})

t.test('an account of any length is read to its end, and on from there', async (t) => {
  const { record, setTo, priceOf, pass, state } = scene()
  for (let n = 0; n < 1_200; n += 1)
    record({
      type: 'UserAdded',
      data: { tenantId: 't1', userId: `u${n}`, name: 'U', addedAt: at },
    })
  setTo(1, '0.5')
  t.equal(await priceOf(), '1')
  t.equal(state.reads, 3)
  pass(ACCOUNT_FACTS_KNOWN_FOR_MS)
  t.equal(await priceOf(), '1')
  t.equal(state.reads, 4)
})
