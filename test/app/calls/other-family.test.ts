import t from 'tap'
import type { CallClaim } from '../../../src/app/calls/claims/types.ts'
import type { CallFamily, CallInput } from '../../../src/app/calls/family.ts'
import { refusalOf } from '../../../src/app/channels/refusal.ts'
import { createRunningCalls } from '../../../src/app/calls/running-calls.ts'
import { answerCall } from '../../../src/app/calls/answer-call.ts'
import { ProviderError } from '../../../src/app/ports/provider.ts'
import type { CallTerms, RatedCall } from '../../../src/domain/catalog/call-rules.ts'
import { settlement, settlementLine } from '../../../src/domain/pricing/settlement.ts'
import { priceBookFromPublished } from '../../../src/domain/pricing/price-book.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { parseAmount } from '../../../src/kernel/money.ts'
import { sharerOf } from '../../../src/domain/token/sharer.ts'
import { principalOf } from '../support/world.ts'
import { memoryCallDeps } from './support/call-deps.ts'

/** A family that is no text and streams nothing: pictures, priced by the piece. */

interface PictureInput extends CallInput {
  readonly count: number
}
interface Pictures {
  readonly counted: number | undefined
}
type Answer = 'whole' | 'uncounted' | 'failed' | ProviderError

const book = priceBookFromPublished({ version: 'b1', entries: [] })
const price = {
  sku: 'picture',
  rule: 'pictures/count',
  unit: 'image',
  price: '0.5',
  per: 1,
} as const

function termsFor(asked: number): CallTerms<Pictures> {
  const frozen = { priceBookVersion: book.version, currency: 'USD' as const }
  const rated = (count: number, measurement: RatedCall['measurement']): RatedCall => ({
    usage: { image: count },
    measurement,
    settlement: settlement(frozen, [settlementLine(price, count, measurement)]),
    limitedTokens: 0,
  })
  return {
    ...frozen,
    candidates: [price],
    holdPico: parseAmount('0.5') * BigInt(asked),
    settle: ({ counted }) => (counted === undefined ? undefined : rated(counted, 'reported')),
    estimate: (seen) => rated(seen?.counted ?? asked, 'estimated'),
  }
}

/** What each channel asked answers, in turn. */
function pictures(...answers: readonly Answer[]) {
  const asked: string[] = []
  const family: CallFamily<PictureInput, { readonly n: number }, Pictures, string> = {
    resolve: ({ family: wire, model, count }) => ({
      request: { n: count },
      channelQuery: { family: wire, model },
      expectedTokens: () => 0,
      price: () => termsFor(count),
    }),
    ask: (_input, channel, request) => {
      const answer = answers[asked.length]
      asked.push(channel.id)
      if (answer === undefined || answer instanceof ProviderError)
        return Promise.reject(answer ?? new Error('asked too often'))
      return Promise.resolve({
        body: () => answer,
        upstreamRequestId: 'up_1',
        restMs: undefined,
        seen: { counted: answer === 'uncounted' ? undefined : request.n },
        failed: answer === 'failed' ? 'no_image' : undefined,
      })
    },
    refusal: refusalOf,
  }
  return { family, asked }
}

const input: PictureInput = {
  principal: principalOf(),
  family: 'pictures',
  surface: 'test.pictures',
  requestId: 'req_1',
  model: 'painter',
  callerGone: new AbortController().signal,
  count: 2,
}
const { signal } = new AbortController()
const world = () =>
  memoryCallDeps({ family: 'pictures', models: { painter: 'upstream-painter' }, book })

t.test('a call of another family is held, sent, settled and delivered', async (t) => {
  const { deps, events, ends } = world()
  const { family, asked } = pictures(new ProviderError('account', 'ruled_out', 'no'), 'whole')
  const call = await answerCall(deps, family, input, signal)
  t.same(asked, ['one', 'two'])
  t.match(call, { body: 'whole', measurement: 'reported', settlement: { amount: '1' } })
  t.same(ends, ['hold 1000000000000 USD', 'commit 1000000000000 at 7'])
  t.match(events, [
    {
      type: 'CallSettled',
      data: {
        callId: call.callId,
        channelId: 'two',
        upstreamModel: 'upstream-painter',
        upstreamRequestId: 'up_1',
        usage: { image: 2 },
        settlement: { lines: [{ sku: 'picture', quantity: 2 }] },
      },
    },
  ])
  t.equal(events.length, 1)
})

t.test(
  'events show what repeats a request, its key, and how many channels were asked',
  async (t) => {
    const repeat = { bodyFingerprint: 'q3Zk0V-9xQe', retry: 2 }
    const idempotency = { keyHash: 'k', bodyHash: 'b' }
    const nothing = (): Promise<void> => Promise.resolve()
    const claim: CallClaim = {
      callId: 'call_1',
      idempotency,
      settling: nothing,
      unsettled: () => undefined,
      settled: () => undefined,
      release: nothing,
      keep: () => Promise.resolve(undefined),
    }
    const busy = new ProviderError('account', 'ruled_out', 'no')
    const lost = new ProviderError('timeout', 'unknown', 'no answer')
    const keyed = { key: 'k', path: '/', bodyHash: '', taken: () => undefined }
    for (const end of ['whole', lost] as const) {
      const { deps: inMemory, events } = world()
      const deps = { ...inMemory, claims: { take: () => Promise.resolve(claim) } }
      const { family } = pictures(busy, end)
      await answerCall(deps, family, { ...input, repeat, keyed }, signal).catch(() => undefined)
      t.match(events, [{ data: { ...repeat, idempotency, attempts: 2 } }])
    }
    const { deps, events } = world()
    await answerCall(deps, pictures('whole').family, input, signal)
    const [{ data } = { data: {} }] = events
    for (const name of ['bodyFingerprint', 'retry', 'idempotency', 'attempts'])
      t.notOk(name in data, `${name} is absent where there is nothing to say`)
  },
)

t.test('a settlement of unknown outcome is committed without an answer', async (t) => {
  const { deps, ends } = world()
  const unknown = new DomainError('log_outcome_unknown', 'it is unknown', {})
  const journal = { ...deps.journal, record: () => Promise.reject(unknown) }
  const { family } = pictures('whole')
  await t.rejects(answerCall({ ...deps, journal }, family, input, signal), {
    code: 'log_outcome_unknown',
  })
  t.same(ends, ['hold 1000000000000 USD', 'commit 1000000000000 at undefined'])
})

t.test('inputs are fetched after admission, before a channel is leased', async (t) => {
  const { deps, events, ends } = world()
  const { family, asked } = pictures('whole')
  const prepare = () => {
    t.same([ends, asked], [['hold 1000000000000 USD'], []])
    const leases = [...Array(16)].map(() =>
      deps.channels.lease(sharerOf(input.principal), { family: 'pictures', model: 'painter' }),
    )
    t.ok(
      leases.every((lease) => lease !== undefined),
      'both channels have all their room',
    )
    for (const lease of leases) lease?.release('neutral')
    return Promise.reject(new DomainError('invalid_request', 'leads nowhere', { param: 'url' }))
  }
  await t.rejects(answerCall(deps, { ...family, prepare }, input, signal), {
    code: 'invalid_request',
  })
  t.same(ends.slice(1), ['failed'])
  t.same([asked, events], [[], []], 'upstream was not asked, and it cost nothing')
})

t.test('a result without enough usage to settle is not delivered, and is our cost', async (t) => {
  const { deps, events, ends } = world()
  const { family } = pictures('uncounted')
  await t.rejects(answerCall(deps, family, input, signal), { code: 'upstream_malformed' })
  t.same(ends.slice(1), ['failed'])
  t.equal(events.length, 1)
  t.match(events[0], {
    type: 'CallFailed',
    data: { code: 'malformed', absorbed: { usage: { image: 2 }, settlement: { amount: '1' } } },
  })
})

t.test('a failed result is delivered free, and recorded with its cost', async (t) => {
  const { deps, events, ends } = world()
  const call = await answerCall(deps, pictures('failed').family, input, signal)
  t.match(call, { body: 'failed', settlement: { amount: '0', lines: [] } })
  t.same(ends.slice(1), ['failed'])
  t.match(events[0], { type: 'CallFailed', data: { code: 'no_image', absorbed: {} } })
})

t.test('a call without an answer is our cost, unless acceptance is ruled out', async (t) => {
  const lost = world()
  const gone = new ProviderError('timeout', 'unknown', 'no answer')
  await t.rejects(answerCall(lost.deps, pictures(gone).family, input, signal), {
    code: 'upstream_timeout',
  })
  t.match(lost.events[0], { data: { channelId: 'one', absorbed: { usage: { image: 2 } } } })
  const refused = world()
  const invalid = new ProviderError('invalid', 'ruled_out', 'no such size')
  await t.rejects(answerCall(refused.deps, pictures(invalid).family, input, signal), {
    code: 'call_refused',
    message: 'no such size',
  })
  t.equal(refused.events.length, 1)
  t.notOk('absorbed' in (refused.events[0]?.data ?? {}))
  t.same(refused.ends.slice(1), ['failed'])
})

t.test(
  '429 after failures of any kind that cost the operator the bound, with any token of the user',
  async (t) => {
    const gone = new ProviderError('timeout', 'unknown', 'no answer')
    const undelivered = pictures('whole').family
    const ask: typeof undelivered.ask = async (...asked) => ({
      ...(await undelivered.ask(...asked)),
      body: () => Promise.reject(new DomainError('storage_unavailable', 'no room', {})),
    })
    const failing = {
      'no answer': pictures(gone).family,
      'a failed result': pictures('failed').family,
      'a result without usage': pictures('uncounted').family,
      'a result that cannot be delivered': { ...undelivered, ask },
    }
    for (const [what, family] of Object.entries(failing)) {
      const { deps } = world()
      deps.throttle.absorbed.add(sharerOf(input.principal), '9')
      await answerCall(deps, family, input, signal).catch(() => undefined)
      const other = { ...input, principal: { ...input.principal, tokenId: 'token_2' } }
      const refused = answerCall(deps, pictures('whole').family, other, signal)
      const details = { whose: 'user', limitedBy: 'absorbed_cost' }
      await t.rejects(refused, { code: 'rate_limited', details }, what)
    }
  },
)

t.test('families share the limit of concurrent calls and the end at a shutdown', async (t) => {
  const { deps } = world()
  const running = createRunningCalls({ ...deps, limits: { ...deps.limits, maxCalls: 1 } })
  let finish = (): void => undefined
  const first = running.run({ family: 'pictures', principal: principalOf() }, (stopped) => {
    stopped.addEventListener('abort', () => finish())
    return new Promise<string>((resolve) => (finish = () => resolve('ended')))
  })
  await t.rejects(
    running.run({ family: 'chat', principal: principalOf() }, () => Promise.resolve('late')),
    { code: 'overloaded' },
  )
  t.equal(running.inFlight(), 1)
  t.equal(await running.close(1), true, 'what is not over at the deadline is stopped')
  t.equal(await first, 'ended')
  await t.rejects(
    running.run({ family: 'pictures', principal: principalOf() }, () => Promise.resolve('late')),
    { code: 'overloaded' },
  )
})
