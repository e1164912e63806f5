import t from 'tap'
import type { LoggedCall } from '../log-reader.ts'
import type { LedgerLine } from '../bill.ts'
import type { UpstreamCall } from '../upstream-record.ts'
import { type CallFindings, judgeCalls, type LoggedImageTask } from './oracle.ts'
import type { ImageOrder } from '../images/orders.ts'
import type { SpeechOrder } from '../speech/orders.ts'
import { type CallOrder, CallWitness, type Ordered, owedFor } from './witness.ts'

/** The oracle of calls itself: it finds nothing where nothing is wrong, and every wrong there can be. */

const AT = '2026-01-02T03:04:05.000Z'
const AT_MS = Date.parse(AT)

const order: ImageOrder = {
  marker: 'i0-1',
  family: 'image',
  model: 'image-2',
  way: 'whole',
  quality: 'low',
  size: '816x816',
  switches: [],
  path: '/v1/images/generations',
  body: {},
  upload: undefined,
}
const later: ImageOrder = { ...order, way: 'async' }

const made: UpstreamCall = {
  id: 'img_1',
  family: 'image',
  model: 'picture-2-2026-04-21',
  client_marker: 'i0-1',
  stream: false,
  success: true,
  usage: {
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    tool_prompt_tokens: 0,
  },
  tool_calls: {},
  finished: true,
  ending: 'whole',
  bytes_written: 1_000,
  accepted_at: AT,
  wire_usage: {},
  pictures: { count: 2, quality: 'low' },
}

const settlement = {
  currency: 'USD',
  amount: '0.0226',
  priceBookVersion: 'faults-1',
  lines: [
    {
      sku: 'image-2-low-image',
      quantity: 2,
      price: '0.0113',
      per: 1,
      amount: '0.0226',
      measurement: 'reported' as const,
    },
  ],
}
const settled: LoggedCall = {
  type: 'CallSettled',
  stream: 'journal-a-1',
  callId: 'call_1',
  requestId: 'req_1',
  outcome: 'completed',
  settlement,
}
const failed: LoggedCall = { ...settled, type: 'CallFailed', settlement: undefined }

const task: LoggedImageTask = {
  platformId: 'image_1',
  events: [],
  requestId: 'req_1',
  requestedAtMs: AT_MS - 50,
  started: true,
  uncertain: undefined,
  end: 'succeeded',
  possibleCostLeak: false,
  settlements: [settlement],
}
const lost: LoggedImageTask = { ...task, end: 'failed', possibleCostLeak: true, settlements: [] }
const doubtful: LoggedImageTask = { ...lost, end: undefined, uncertain: 'worker_died' }

const lineOf = (source: string): LedgerLine => ({
  line_id: `${source}:1`,
  source_id: source,
  native_id: null,
  tenant_id: 'tenant_demo',
  model: 'image-2',
  sku: 'image-2-low-image',
  quantity: 2,
  currency: 'USD',
  amount: '0.022600000000',
})

interface Scene extends Partial<
  Pick<CallFindings, 'accepted' | 'uploads' | 'calls' | 'lines' | 'deathsMs' | 'mayBeOpen'>
> {
  readonly order?: CallOrder
  readonly uploaded?: readonly string[]
  readonly told?: Partial<Ordered>
  readonly tasks?: readonly LoggedImageTask[]
}

function codes({
  order: asked = order,
  told = {},
  tasks = [],
  uploaded = [],
  ...scene
}: Scene): readonly string[] {
  const witness = new CallWitness()
  Object.assign(witness.order(asked), told)
  for (const marker of uploaded) witness.uploads.add(marker)
  const found = judgeCalls({
    accepted: [made],
    markers: new Map([['req_1', 'i0-1']]),
    uploads: new Map(),
    calls: [],
    tasks: new Map(tasks.map((one) => [one.platformId, one])),
    lines: [],
    witness,
    deathsMs: [],
    mayBeOpen: false,
    ...scene,
  })
  return [...new Set(found.map(({ code }) => code))].sort()
}

const delivered = { delivered: true, callIds: new Set(['call_1']) }
const whole = { calls: [settled], lines: [lineOf('call_1')], told: delivered }

t.test('a call and a task settled once and exactly have no finding', async (t) => {
  t.same(codes(whole), [])
  const told = { platformIds: new Set(['image_1']) }
  t.same(codes({ order: later, tasks: [task], lines: [lineOf('image_1')], told }), [])
})

t.test(
  'reports a call that is unsettled, billed twice, at a wrong amount or for no result',
  async (t) => {
    t.same(codes({}), ['unsettled'])
    t.same(codes({ told: delivered }), ['delivered_unsettled'])
    t.same(codes({ calls: [failed] }), ['unsettled'], 'a failure needs a reason')
    const black = { ...order, switches: ['black'] }
    t.same(codes({ order: black, calls: [failed] }), [])
    t.same(codes({ deathsMs: [AT_MS + 2_000] }), [], 'its process died')
    t.same(codes({ deathsMs: [AT_MS + 60_000] }), ['unsettled'], 'not while it was made')
    t.same(codes({ ...whole, calls: [settled, settled] }), ['billed_twice', 'twice'])
    t.same(codes({ ...whole, accepted: [{ ...made, success: false }] }), ['settled_in_vain'])
    t.same(codes({ ...whole, accepted: [] }), ['delivered_unsettled', 'made_up'])
    t.same(codes({ ...whole, accepted: [made, made] }), ['sent_twice'])
    const unanswered = { ...made, ending: 'cut', bytes_written: 0 }
    t.same(codes({ ...whole, accepted: [unanswered, made] }), [], 'once more on a new connection')
    t.same(codes({ ...whole, accepted: [unanswered, unanswered, made] }), ['sent_twice'])
    t.ok(codes({ order: later, accepted: [unanswered, made] }).includes('sent_twice'), 'no task')
    const three = { ...made, pictures: { count: 3 } }
    t.same(codes({ ...whole, accepted: [three] }), ['wrong_amount'])
    t.ok(codes({ accepted: [{ ...made, client_marker: 'i9-9' }] }).includes('unasked'))
  },
)

t.test(
  'a call sent again under its key is made once, unless it failed or its process died',
  async (t) => {
    const told = { ...delivered, sent: 3 }
    t.same(codes({ ...whole, told }), [])
    t.same(codes({ ...whole, told, accepted: [made, { ...made, id: 'call_b' }] }), ['made_twice'])
    const later = { ...made, id: 'call_b', accepted_at: new Date(AT_MS + 60_000).toISOString() }
    const died = { ...whole, told, accepted: [made, later], deathsMs: [AT_MS + 2_000] }
    t.same(codes(died), [], 'its process died under the first')
    t.same(codes({ ...died, deathsMs: [] }), ['made_twice'])
    t.same(codes({ ...died, calls: [settled, settled] }), ['billed_twice', 'twice'])
    const vain = { ...made, id: 'call_a', success: false }
    t.same(codes({ ...whole, told, accepted: [vain, made] }), [])
    t.same(codes({ ...whole, told, accepted: [made, vain] }), [])
    t.same(codes({ told: { sent: 2 }, calls: [failed] }), [], 'withheld, and not charged')
    t.same(codes({ ...whole, told, calls: [settled, settled] }), ['billed_twice', 'twice'])
  },
)

t.test('a call is billed under its caller’s id, and not after a refusal', async (t) => {
  const other = { callIds: new Set(['call_2']) }
  t.same(codes({ ...whole, told: { ...delivered, ...other } }), ['wrong_id'])
  t.same(codes({ ...whole, told: { ...delivered, ...other, sent: 2 } }), ['wrong_id'])
  t.same(codes({ ...whole, told: { ...other, sent: 2 } }), [], 'refused first, and then not heard')
  const refused = (words: string) => codes({ ...whole, told: { refused: words } })
  t.same(refused('502 upstream_error'), ['billed_though_refused'])
  t.same(refused('503 service_unavailable'), [], 'whether it was written down was not known')
  t.same(refused('422 no_image_generated'), [])
})

t.test('a task is recorded before it is sent, settled or reported, and ended', async (t) => {
  const asked = { order: later }
  t.same(codes(asked), ['unreported'])
  const late = { ...task, requestedAtMs: AT_MS + 5_000 }
  const lines = [lineOf('image_1')]
  t.same(codes({ ...asked, tasks: [late], lines }), ['intent_too_late'])
  t.same(codes({ ...asked, tasks: [{ ...task, started: false }], lines }), ['intent_too_late'])
  t.same(codes({ ...asked, tasks: [lost] }), ['unsettled'])
  t.same(codes({ order: { ...later, switches: ['malformed'] }, tasks: [lost] }), [])
  t.same(codes({ ...asked, tasks: [{ ...lost, possibleCostLeak: false }] }), ['leak_unreported'])
  t.same(codes({ ...asked, tasks: [{ ...lost, end: 'expired' }] }), [])
  t.same(codes({ ...asked, tasks: [doubtful], mayBeOpen: true }), [])
  t.same(codes({ ...asked, tasks: [doubtful] }), ['end_unseen', 'still_open'])
  const running = { ...doubtful, uncertain: undefined }
  t.same(codes({ ...asked, tasks: [running], mayBeOpen: true }), ['end_unseen', 'still_open'])
  const twin = { ...task, platformId: 'image_2', settlements: [] }
  t.ok(codes({ ...asked, tasks: [task, twin], lines }).includes('two_tasks'))
  t.same(codes({ ...asked, tasks: [task], accepted: [], lines }), ['settled_in_vain'])
  const told = { platformIds: new Set(['image_1', 'image_9']) }
  t.same(codes({ ...asked, tasks: [task], lines, told }), ['id_lost', 'two_tasks'])
})

const speech: SpeechOrder = {
  marker: 'i0-1',
  family: 'speech',
  model: 'speech-2.8-hd',
  way: 'whole',
  switches: [],
  text: 'a boat',
  isRaw: false,
  path: '/provB/v1/t2a_v2',
  body: {},
}
const spoken = { ...made, family: 'speech', wire_usage: { usage_characters: 30 } }
const clone = { ...speech, family: 'voice-clone' as const }

function settledAs(
  ...lines: readonly (readonly [sku: string, quantity: number, amount: string])[]
) {
  const [total = ''] = lines.map(([, , amount]) => amount).slice(-1)
  const written = lines.map(([sku, quantity, amount]) => ({
    ...settlement.lines[0],
    sku,
    quantity,
    amount,
  }))
  return { ...settled, settlement: { ...settlement, amount: total, lines: written } } as LoggedCall
}

t.test(
  'speech is billed by reported characters, a clone by the piece and its audition',
  async (t) => {
    const owed = (order: SpeechOrder) =>
      owedFor(order, spoken).map(({ sku, quantity, pico }) => `${sku} ${quantity} ${pico}`)
    t.same(owed(speech), ['speech-2.8-hd-character 30 3210000000'])
    const audition = 'speech-2.8-hd-character 30 3210000000'
    t.same(owed(clone), ['voice-clone 1 1530100000000', audition])
    t.same(owed({ ...clone, switches: ['no-usage'] }), [
      'voice-clone 1 1530100000000',
      'speech-2.8-hd-character 6 642000000',
    ])
    t.same(owedFor(speech, { ...spoken, wire_usage: { usage_characters: 0 } }), [])
    const exact = settledAs(['speech-2.8-hd-character', 30, '0.00321'])
    const line = {
      ...lineOf('call_1'),
      sku: 'speech-2.8-hd-character',
      quantity: 30,
      amount: '0.003210000000',
    }
    const scene = { order: speech, accepted: [spoken], told: delivered, lines: [line] }
    t.same(codes({ ...scene, calls: [exact] }), [])
    const more = settledAs(['speech-2.8-hd-character', 31, '0.003317'])
    t.ok(codes({ ...scene, calls: [more] }).includes('wrong_amount'))
    const isCloned = { ...scene, order: clone, calls: [exact] }
    t.same(codes(isCloned), ['wrong_amount'], 'its voice is not billed')
    const lost = {
      order: { ...speech, switches: ['no-usage'] },
      accepted: [spoken],
      calls: [failed],
    }
    t.same(codes(lost), [], 'what is not counted is not delivered')
    t.same(codes({ ...lost, order: { ...clone, switches: ['no-usage'] } }), ['unsettled'])
  },
)

t.test('a sample is sent on once, and only for its uploader', async (t) => {
  t.same(codes({ ...whole, uploads: new Map([['u0-1', 1]]) }), ['unasked'])
  const told = { ...whole, uploaded: ['u0-1'] }
  t.same(codes({ ...told, uploads: new Map([['u0-1', 1]]) }), [])
  t.same(codes({ ...told, uploads: new Map([['u0-1', 2]]) }), ['sent_twice'])
})

t.test('the ledger has exactly the lines of the settlements', async (t) => {
  t.same(codes({ ...whole, lines: [] }), ['line_missing'])
  t.same(codes({ ...whole, lines: [...whole.lines, lineOf('call_9')] }), ['line_unexplained'])
  t.same(codes({ ...whole, lines: [{ ...lineOf('call_1'), quantity: 1 }] }), ['line_differs'])
})

t.test('the owed amount follows from upstream’s record, to the last digit', async (t) => {
  const owed = (of: Partial<ImageOrder>, call: Partial<UpstreamCall>) =>
    owedFor({ ...order, ...of }, { ...made, ...call }).map(
      ({ sku, quantity, pico, currency }) => `${sku} ${quantity} ${pico} ${currency}`,
    )
  const auto = { count: 1, quality: 'medium' }
  t.same(owed({ quality: 'auto' }, { pictures: auto }), ['image-2-medium-image 1 42700000000 USD'])
  const wire = { input_tokens_details: { text_tokens: 9, image_tokens: 0 } }
  const tokens = { wire_usage: wire, usage: { ...made.usage, output_tokens: 7 } }
  t.same(owed({ model: 'image-2.5-flare' }, tokens), [
    'image-2.5-text-input 9 45027000 USD',
    'image-2.5-image-output 7 210077000 USD',
  ])
  const gen = { family: 'gen', model: 'gen-3.1-flash-image', size: '512' } as const
  t.same(owed(gen, { pictures: { count: 1 } }), ['gen-3.1-flash-image-512-image 1 45300000000 USD'])
  const none = { pictures: { count: 0 }, usage: { ...made.usage, input_tokens: 10 } }
  t.same(owed(gen, none), ['gen-3.1-flash-image-input-token 10 6130000 USD'])
  t.same(owed({ ...gen, way: 'async' }, none), [])
  t.same(owed({ ...gen, switches: ['blocked'] }, none), [])
  const art = { family: 'art-b', model: 'artB-5.0-lite' } as const
  t.same(owed({ ...art, switches: ['one-black'] }, { pictures: { count: 3 } }), [
    'artB-5.0-lite-image 2 440600000000 CNY',
  ])
})
