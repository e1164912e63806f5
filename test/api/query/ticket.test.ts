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
