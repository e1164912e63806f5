import t from 'tap'
import { admit } from '../../../src/app/calls/answer-call.ts'
import type { CallClaim } from '../../../src/app/calls/claims/types.ts'
import type { CallDeps } from '../../../src/app/calls/deps.ts'
import type { CallFamily, CallInput } from '../../../src/app/calls/family.ts'
import { refusalOf } from '../../../src/app/channels/refusal.ts'
import type { Reservation } from '../../../src/app/spending/reservation.ts'
import { ownHolder } from '../../../src/app/spending/throttle/throttle.ts'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { principalOf } from '../support/world.ts'
import { memoryCallDeps } from './support/call-deps.ts'

/** What a call reserves before it is sent, and that a refusal at any step gives all of it back. */

const book = priceBookFromPublished({ version: 'b1', entries: [] })
const HOLD_PICO = 5n
const EXPECTED_TOKENS = 40

const family: CallFamily<CallInput, 'request', undefined, never> = {
  resolve: ({ family: wire, model }) => ({
    request: 'request',
    channelQuery: { family: wire, model },
    expectedTokens: () => EXPECTED_TOKENS,
    price: () => ({
      priceBookVersion: book.version,
      currency: 'USD',
      candidates: [],
      holdPico: HOLD_PICO,
      settle: () => undefined,
      estimate: () => {
        throw new Error('nothing is sent')
      },
    }),
  }),
  ask: () => Promise.reject(new Error('nothing is sent')),
  refusal: refusalOf,
}

/** What a call depends on, and what is reserved at the moment. */
function world() {
  const { deps: inMemory } = memoryCallDeps({
    family: 'pictures',
    models: { painter: 'upstream' },
    book,
  })
  const open = { claims: 0, budget: 0n, funds: 0n }
  const reserve = (what: 'budget' | 'funds', pico: bigint): Promise<Reservation> => {
    open[what] += pico
    const end = (): void => void (open[what] -= pico)
    return Promise.resolve({ commit: end, release: end })
  }
  const deps: CallDeps = {
    ...inMemory,
    budgets: { ...inMemory.budgets, reserve: (_who, _currency, pico) => reserve('budget', pico) },
    funds: { ...inMemory.funds, reserve: (_tenant, _currency, pico) => reserve('funds', pico) },
    claims: {
      take: () => {
        open.claims += 1
        const nothing = (): Promise<void> => Promise.resolve()
        const claim: CallClaim = {
          callId: 'call_1',
          idempotency: { keyHash: 'k', bodyHash: 'b' },
          settling: nothing,
          unsettled: () => undefined,
          settled: () => undefined,
          release: () => {
            open.claims -= 1
            return Promise.resolve()
          },
          keep: () => Promise.resolve(undefined),
        }
        return Promise.resolve(claim)
      },
    },
  }
  const principal = principalOf('tenant_1', {
    requestsPerMinute: 10,
    tokensPerMinute: 1_000,
    concurrentCalls: 3,
  })
  const input: CallInput = {
    principal,
    family: 'pictures',
    surface: 'test.pictures',
    requestId: 'req_1',
    model: 'painter',
    callerGone: new AbortController().signal,
    keyed: { key: 'k', path: '/', bodyHash: '', taken: () => undefined },
  }
  const reserved = () => {
    const [holder] = ownHolder(principal)
    const { calls, perMinute } = deps.throttle.statusOf(holder!)
    const [requests, tokens] = [perMinute.requests?.remaining, perMinute.tokens?.remaining]
    return { ...open, calls, requests, tokens }
  }
  return { deps, input, reserved }
}

const refused = new DomainError('overloaded', 'this step refuses', {})
const refuses = (): never => {
  throw refused
}
const rejects = () => Promise.reject(refused)

type World = ReturnType<typeof world>
const steps: Readonly<
  Record<string, (given: World) => Partial<World> & { family?: typeof family }>
> = {
  'the family refuses the order': () => ({ family: { ...family, resolve: refuses } }),
  'the log is away': ({ deps }) => ({
    deps: { ...deps, log: { healthy: () => false, ready: rejects } },
  }),
  'no prices can be read': ({ deps }) => ({ deps: { ...deps, prices: { of: rejects } } }),
  'the tenant is suspended': ({ deps }) => ({
    deps: { ...deps, tenantAccess: { checkCreation: refuses } },
  }),
  'the model has no price': () => ({
    family: {
      ...family,
      resolve: (...asked) => ({ ...family.resolve(...asked), price: refuses }),
    },
  }),
  'a budget is reached': ({ deps }) => ({
    deps: { ...deps, budgets: { ...deps.budgets, reserve: rejects } },
  }),
  'the balance does not cover the call': ({ deps }) => ({
    deps: { ...deps, funds: { ...deps.funds, reserve: rejects } },
  }),
}

t.test('an admitted call has reserved everything, and releases it once it failed', async (t) => {
  const { deps, input, reserved } = world()
  const { call } = await admit(deps, family, input, false)
  t.same(reserved(), { claims: 1, budget: 5n, funds: 5n, calls: 1, requests: 9, tokens: 960 })
  call.held.release('failed')
  call.held.release('not_started')
  t.same(
    reserved(),
    { claims: 1, budget: 0n, funds: 0n, calls: 0, requests: 9, tokens: 1_000 },
    'a failed call counts as a request, once',
  )
})

for (const [name, failing] of Object.entries(steps))
  t.test(`no reservation remains where ${name}`, async (t) => {
    const given = world()
    const before = given.reserved()
    const { deps, family: asked } = { deps: given.deps, family, ...failing(given) }
    await t.rejects(admit(deps, asked, given.input, false), { name: 'DomainError' })
    t.same(given.reserved(), before)
  })

t.test('a fourth concurrent call is refused and reserves no budget or funds', async (t) => {
  const { deps, input, reserved } = world()
  for (let calls = 0; calls < 3; calls += 1) await admit(deps, family, input, false)
  const before = reserved()
  await t.rejects(admit(deps, family, input, false), { code: 'rate_limited' })
  t.same(reserved(), before)
})

t.test('a call without tokens left is refused and keeps no place', async (t) => {
  const { deps, input, reserved } = world()
  const large: typeof family = {
    ...family,
    resolve: (...asked) => ({ ...family.resolve(...asked), expectedTokens: () => 1_000 }),
  }
  await admit(deps, large, input, false)
  const before = reserved()
  await t.rejects(admit(deps, family, input, false), { code: 'rate_limited' })
  t.same(reserved(), before)
})
