import type { Static } from 'typebox'
import type { Life, LifeNote } from '../../../app/support/life.ts'
import type { Step } from '../../../app/support/steps.ts'
import { shownReceipt } from '../receipts/view.ts'
import type { LifeSchema } from './schemas.ts'

/** How a life is shown to its reader. */
export interface LifeReader {
  /** Only operators see who posted money. */
  readonly isOperator: boolean
  /** A time, Unix milliseconds, as text of the reader's zone. */
  readonly timeOf: (unixMs: number) => string
}

type ShownLife = Static<typeof LifeSchema>
type ShownStep = ShownLife['steps'][number]

/** Steps that the reader asked for by their number. */
interface AskedSteps {
  readonly at: Step | undefined
  readonly against: Step | undefined
}

function shownAfter({ held, charged, givenBack, net }: Step['after']): ShownStep['after'] {
  return { held, charged, given_back: givenBack, net }
}

function shownStep(step: Step, { isOperator, timeOf }: LifeReader): ShownStep {
  const { n, position, types, by, title, detail, state, money, formulas } = step
  return {
    n,
    position,
    types: [...types],
    at: timeOf(step.atMs),
    started_at: step.startedAtMs === undefined ? null : timeOf(step.startedAtMs),
    wait_ms: step.waitMs,
    by,
    title,
    detail,
    state,
    money: [...money],
    formulas: [...formulas],
    after: shownAfter(step.after),
    ...(isOperator ? { actor: step.actor ?? null } : {}),
  }
}

function shownNote(note: LifeNote, { timeOf }: LifeReader): ShownLife['notes'][number] {
  const { noteId, atMs, action, text, audience, by } = note
  return {
    id: noteId,
    at: timeOf(atMs),
    action: action ?? null,
    text,
    audience,
    by:
      by === undefined
        ? null
        : { tenant_id: by.tenantId, user_id: by.userId, token_id: by.tokenId },
  }
}

function shownState(step: Step, { timeOf }: LifeReader): NonNullable<ShownLife['as_of']> {
  return { step: step.n, at: timeOf(step.atMs), title: step.title, ...shownAfter(step.after) }
}

function shownDifference(one: Step, other: Step): NonNullable<ShownLife['difference']> {
  const [from, to] = one.n <= other.n ? [one, other] : [other, one]
  const before = { title: from.title, ...shownAfter(from.after) }
  const after = { title: to.title, ...shownAfter(to.after) }
  const names = Object.keys(before) as (keyof typeof before)[]
  return {
    from_step: from.n,
    to_step: to.n,
    took_ms: to.atMs - from.atMs,
    changes: names
      .filter((name) => before[name] !== after[name])
      .map((name) => ({ name, from: before[name], to: after[name] })),
  }
}

/** A life as its reader may see it. */
export function shownLife(life: Life, reader: LifeReader, asked: AskedSteps): ShownLife {
  const { at, against } = asked
  const { timeOf } = reader
  const timeOrNull = (unixMs: number | undefined): string | null =>
    unixMs === undefined ? null : timeOf(unixMs)
  const to = at ?? life.steps.at(-1)
  return {
    id: life.id,
    object: 'life',
    kind: life.kind,
    tenant_id: life.tenantId,
    user_id: life.userId ?? null,
    state: life.state,
    aside: [...life.aside],
    receipt: life.receipt === undefined ? null : shownReceipt(life.receipt, reader.isOperator),
    duration_ms: life.durationMs ?? null,
    first_byte_ms: life.firstByteMs ?? null,
    result:
      life.result === undefined
        ? null
        : {
            what: life.result.what,
            kept_by: life.result.keptBy ?? null,
            until: timeOrNull(life.result.untilMs),
          },
    steps: life.steps.map((step) => shownStep(step, reader)),
    ...(at === undefined ? {} : { as_of: shownState(at, reader) }),
    ...(against === undefined || to === undefined
      ? {}
      : { difference: shownDifference(against, to) }),
    deadline_at: timeOrNull(life.deadlineAtMs),
    last_asked_at: timeOrNull(life.lastAskedAtMs),
    polls: life.polls ?? null,
    attempts: life.attempts,
    callback: life.hasCallback,
    related: life.related.map(({ id, why, afterMs, retry, amount, currency }) => ({
      id,
      why,
      after_ms: afterMs,
      retry: retry ?? null,
      amount: amount ?? null,
      currency: currency ?? null,
    })),
    notes: life.notes.map((note) => shownNote(note, reader)),
  }
}
