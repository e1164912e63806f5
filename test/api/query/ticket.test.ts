import t from 'tap'
import { ticketOf, ticketText } from '../../../src/api/query/lives/ticket.ts'
import { isSafeInShell } from '../../../src/kernel/plain-text.ts'

/** A ticket is pasted into shells, terminals and pages: names of others must mean nothing there. */

const ESCAPE = String.fromCharCode(27)
const life: Parameters<typeof ticketOf>[0] = {
  id: 'asset-01JD0000000000000000000001',
  object: 'life',
  kind: 'asset',
  tenant_id: 'acme; rm -rf ~',
  user_id: 'ann',
  state: 'ready',
  aside: [],
  receipt: null,
  duration_ms: null,
  first_byte_ms: null,
  result: null,
  steps: [
    {
      n: 1,
      position: '7',
      types: ['AssetCreated'],
      at: '2026-11-26T09:49:15.379Z',
      started_at: null,
      wait_ms: 0,
      by: 'caller',
      title: 'created',
      detail: `Image ${ESCAPE}[2J | <b>boat</b>\n# heading`,
      state: 'waiting',
      money: [],
      formulas: [],
      after: { held: '0', charged: '0', given_back: '0', net: '0' },
    },
    {
      n: 2,
      position: '9',
      types: ['AssetActivated'],
      at: '2026-11-28T09:49:15.379Z',
      started_at: null,
      wait_ms: 172_800_000,
      by: 'provider',
      title: 'ready',
      detail: '',
      state: 'done',
      money: [],
      formulas: [],
      after: { held: '0', charged: '0', given_back: '0', net: '0' },
    },
  ],
  deadline_at: null,
  last_asked_at: null,
  polls: null,
  attempts: 1,
  callback: false,
  related: [],
  notes: [],
}

t.test('commands hold no name that a shell would read more into', async (t) => {
  t.same(ticketOf(life).commands, [`tollgate replay ${life.id}`])
  const plain = ticketOf({ ...life, tenant_id: 'acme' })
  t.same(plain.commands, [`tollgate replay ${life.id}`, 'tollgate failures --today --tenant acme'])
  for (const id of ['a b', '$(x)', '-x', '', 'a"b', "a'b", 'a\nb', '*', '~'])
    t.notOk(isSafeInShell(id), JSON.stringify(id))
})

t.test('text of others stays in its cell; waits of days are in days', async (t) => {
  const text = ticketText(ticketOf(life))
  t.notMatch(text, ESCAPE)
  const [created = '', ready = ''] = text
    .split('\n')
    .filter((line) => line.includes(' | created |') || line.includes(' | ready |'))
  t.match(created, 'Image  \\[2J \\| \\<b\\>boat\\</b\\> \\# heading |')
  t.match(ready, '| +2 d 0 h |')
  t.notMatch(ticketOf({ ...life, state: `re${ESCAPE}ady` }).reply, ESCAPE)
})

type ShownLife = Parameters<typeof ticketOf>[0]
type Receipt = NonNullable<ShownLife['receipt']>

/** A receipt of which only its money matters here. */
const receipt = (money: Partial<Receipt>): Receipt => ({
  id: 'call_1',
  object: 'receipt',
  kind: 'call',
  state: 'settled',
  verdict: 'Settled once: 0.02 USD in 1 line, all of it as reported.',
  tenant_id: 'acme',
  user_id: 'ann',
  token_id: 'token_1',
  request_id: 'req_1',
  native_id: null,
  surface: 'v1.chat.completions',
  model: 'text-basic',
  tags: null,
  end_user: null,
  currency: 'USD',
  amount: '0.02',
  adjusted: '0',
  net: '0.02',
  as_of: '9',
  held: '0',
  price_book_version: '1',
  measurement: 'reported',
  lines: [],
  corrections: [],
  timeline: [],
  ...money,
})
const again = (amount: string | null): ShownLife['related'][number] => ({
  id: 'call_2',
  why: 'same_body',
  after_ms: 3_000,
  retry: null,
  amount,
  currency: 'USD',
})

t.test('a reply says in plain words what was charged and what is kept', async (t) => {
  const settled: ShownLife = { ...life, state: 'settled', receipt: receipt({}) }
  const failed = life.steps.map((step) => ({ ...step, state: 'failed' as const, detail: '' }))
  const late = { deadline_at: '2026-11-29T10:00:00.000+08:00' }
  const held = receipt({ amount: '0', net: '0', held: '0.5' })
  const replies: readonly (readonly [ShownLife, ...RegExp[]])[] = [
    [settled, /^About your request of 2026-11-26 09:49:15 UTC to text-basic:$/m],
    [settled, /^You were charged 0\.02 USD once\.$/m, /^Id: asset-\S+\. Request: req_1\.$/m],
    [
      { ...settled, related: [again('0.02')] },
      /^You were charged 0\.02 USD twice, because the same request was sent twice\.$/m,
    ],
    [{ ...settled, related: [again(null)] }, /^You were charged 0\.02 USD once\.$/m],
    [
      { ...settled, related: [again('0.02'), again('0.03')] },
      /^You were charged three times: 0\.02 USD, 0\.02 USD, 0\.03 USD, because/m,
    ],
    [
      { ...settled, receipt: receipt({ adjusted: '0.02', net: '0' }) },
      /^0\.02 USD of this request was refunded: you pay nothing for it\.$/m,
    ],
    [
      { ...settled, receipt: receipt({ adjusted: '0.01', net: '0.01' }) },
      /^0\.01 USD of this request was refunded: you pay 0\.01 USD for it\.$/m,
    ],
    [
      { ...settled, state: 'not_billed', steps: failed, receipt: receipt({ amount: '0' }) },
      /^It has no result: ready\.$/m,
      /^You were not charged\.$/m,
    ],
    [{ ...settled, state: 'running', receipt: held }, /^0\.5 USD is held until it ends\.$/m],
    [
      { ...settled, ...late, state: 'unknown', receipt: held },
      /released at the latest at 2026-11-29 10:00:00 UTC\+08:00\.$/m,
    ],
    [
      { ...settled, result: { what: 'answer', kept_by: null, until: null } },
      /^The answer was sent, and is not kept\.$/m,
    ],
    [
      {
        ...settled,
        result: { what: 'files', kept_by: 'gateway', until: '2026-11-27T09:49:15.379Z' },
      },
      /^Files that the answer links to are kept until 2026-11-27 09:49:15 UTC\.$/m,
    ],
  ]
  for (const [one, ...words] of replies)
    for (const word of words) t.match(ticketOf(one).reply, word)
})

t.test('notes are in the part for people inside, and in no reply', async (t) => {
  const secret = 'The customer | seems <angry>\nand asked twice.'
  const [step] = life.steps
  const note = {
    ...step!,
    n: 3,
    at: '2026-11-29T09:49:15.379Z',
    types: ['NotePosted'],
    title: 'noted',
    detail: secret,
  }
  const ticket = ticketOf({
    ...life,
    steps: [...life.steps, note],
    notes: [
      {
        id: 'note_1',
        at: note.at,
        action: 'give_up',
        text: secret,
        audience: 'operators',
        by: { tenant_id: 'ops', user_id: 'sue', token_id: 'token_1' },
      },
    ],
  })
  t.match(
    ticketText(ticket),
    '## Notes, for people inside\n\n- 2026-11-29T09:49:15.379Z, sue of ops, give up: The customer \\| seems \\<angry\\> and asked twice.',
  )
  t.equal(ticket.reply, ticketOf(life).reply)
})
