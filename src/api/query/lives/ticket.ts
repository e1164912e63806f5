import { type Static, Type } from 'typebox'
import { formatDuration, formatElapsed } from '../../../kernel/duration.ts'
import { isSafeInShell, oneLine } from '../../../kernel/plain-text.ts'
import { replyOf, resultWords } from './reply.ts'
import { LifeSchema } from './schemas.ts'

/** A life as a ticket for support, and as a reply that may be sent to a customer. */

type ShownLife = Static<typeof LifeSchema>

const { id, kind, tenant_id, user_id, state, steps, related, notes, aside } = LifeSchema.properties

export const TicketSchema = Type.Object(
  {
    id,
    object: Type.Literal('ticket'),
    kind,
    tenant_id,
    user_id,
    state,
    verdict: Type.String({ description: 'The verdict of its receipt, or its last step.' }),
    aside,
    facts: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    steps,
    related,
    notes,
    commands: Type.Array(Type.String(), { description: 'Commands that show more.' }),
    reply: Type.String({
      description: 'Text for a customer: no account, no channel, no rule of prices.',
    }),
  },
  { named: 'Ticket' },
)

export const TicketAnswerSchema = Type.Object(
  { success: Type.Literal(true), message: Type.String(), data: TicketSchema },
  { description: 'Success.' },
)

type Ticket = Static<typeof TicketSchema>

export function lifeVerdictOf({ receipt, kind: what, state: is }: ShownLife): string {
  return receipt?.verdict ?? `The ${what.replace('_', ' ')} is ${is}.`
}

/** An amount with its currency; null for one that a ticket leaves out. */
function inCurrency(
  receipt: ShownLife['receipt'],
  amount: string | undefined,
  leftOut?: string,
): string | null {
  if (amount === undefined || amount === leftOut) return null
  return `${amount} ${receipt?.currency ?? ''}`.trim()
}

function factsOf(life: ShownLife): Ticket['facts'] {
  const { receipt } = life
  const given: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ['tenant', life.tenant_id],
    ['user', life.user_id],
    ['token', receipt?.token_id],
    ['request', receipt?.request_id],
    ['native id', receipt?.native_id],
    ['model', receipt?.model],
    ['surface', receipt?.surface],
    ['charged', life.state === 'settled' ? inCurrency(receipt, receipt?.amount) : null],
    ['refunded', inCurrency(receipt, receipt?.adjusted, '0')],
    ['held', inCurrency(receipt, receipt?.held, '0')],
    ['price book', receipt?.price_book_version],
    ['deadline', life.deadline_at],
    ['last asked', life.last_asked_at],
    ['polls', life.polls === null ? null : String(life.polls)],
    ['attempts', life.attempts > 1 ? String(life.attempts) : null],
    ['took', life.duration_ms === null ? null : formatDuration(life.duration_ms)],
    ['first byte after', life.first_byte_ms === null ? null : formatDuration(life.first_byte_ms)],
    ['result', life.result === null ? null : resultWords(life.result)],
  ]
  return given.flatMap(([name, value]) => (value ? [{ name, value }] : []))
}

/** Commands that end with an id; none where a shell would read more into the id. */
function commandsOn(of: string, ...commands: readonly string[]): readonly string[] {
  return isSafeInShell(of) ? commands.map((command) => `tollgate ${command} ${of}`) : []
}

/** The ticket of a life, as its reader sees the life. */
export function ticketOf(life: ShownLife): Ticket {
  return {
    id: life.id,
    object: 'ticket',
    kind: life.kind,
    tenant_id: life.tenant_id,
    user_id: life.user_id,
    state: life.state,
    verdict: lifeVerdictOf(life),
    aside: life.aside,
    facts: factsOf(life),
    steps: life.steps,
    related: life.related,
    notes: life.notes,
    commands: [
      ...commandsOn(life.id, 'replay', ...(life.receipt === null ? [] : ['receipt'])),
      ...commandsOn(life.tenant_id, 'failures --today --tenant'),
    ],
    reply: replyOf(life, lifeVerdictOf(life)),
  }
}

/** Text from callers and providers as one line, without signs that Markdown or a terminal reads. */
function plain(text: string): string {
  return oneLine(text).replaceAll(/[\\`*{}[\]<>#|~]/g, (sign) => `\\${sign}`)
}

const row = (cells: readonly string[]): string => `| ${cells.map(plain).join(' | ')} |`

function moneyOf({ money, after }: ShownLife['steps'][number]): readonly [string, string, string] {
  const moved = money.map(({ word, amount }) => `${word} ${amount}`).join(', ')
  return [moved, after.held, after.net]
}

export const relatedWords = {
  retry: 'the same request again, by a client that says so',
  same_body: 'the same request again',
  same_key: 'the same key',
  same_request: 'of the same request',
  uses: 'used by this',
  used_by: 'used this',
} as const satisfies Record<ShownLife['related'][number]['why'], string>

function noteLine({ at, by, action, text }: ShownLife['notes'][number]): string {
  const who = by === null ? 'a shell' : `${by.user_id} of ${by.tenant_id}`
  const what = action === null ? '' : `, ${action.replace('_', ' ')}`
  return `- ${plain(`${at}, ${who}${what}: ${text}`)}`
}

/** A ticket as Markdown. */
export function ticketText(ticket: Ticket): string {
  const lines = [
    `# ${plain(ticket.kind.replace('_', ' '))} ${plain(ticket.id)}`,
    '',
    `**${plain(ticket.verdict)}**`,
    ...ticket.aside.flatMap((sentence) => ['', plain(sentence)]),
    '',
    ...ticket.facts.map(({ name, value }) => `- ${name}: ${plain(value)}`),
    '',
    '## Steps',
    '',
    '| time | wait | by | step | detail | money | held | to pay |',
    '|-|-|-|-|-|-|-|-|',
    ...ticket.steps.map((step) =>
      row([
        step.at,
        step.n === 1 ? '' : formatElapsed(step.wait_ms),
        step.by,
        step.title,
        step.detail,
        ...moneyOf(step),
      ]),
    ),
  ]
  const formulas = ticket.steps.flatMap((step) => step.formulas)
  if (formulas.length > 0) lines.push('', ...formulas.map((formula) => `- ${plain(formula)}`))
  if (ticket.related.length > 0)
    lines.push(
      '',
      '## Related',
      '',
      '| life | why | after | charged |',
      '|-|-|-|-|',
      ...ticket.related.map((one) =>
        row([
          one.id,
          relatedWords[one.why],
          formatElapsed(one.after_ms),
          one.amount === null ? '' : `${one.amount} ${one.currency ?? ''}`,
        ]),
      ),
    )
  if (ticket.notes.length > 0)
    lines.push('', '## Notes, for people inside', '', ...ticket.notes.map(noteLine))
  lines.push('', '## More', '', ...ticket.commands.map((command) => `    ${command}`))
  lines.push('', '## Reply', '', ...ticket.reply.split('\n').map((line) => `> ${plain(line)}`), '')
  return lines.join('\n')
}
