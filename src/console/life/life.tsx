import type { JSX } from 'preact'
import { readHistory } from '../../api/query/history.ts'
import { readLife } from '../../api/query/lives/route.ts'
import { LifeQuerySchema } from '../../api/query/lives/schemas.ts'
import { ticketOf, lifeVerdictOf } from '../../api/query/lives/ticket.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { findHref, lifeHref, paths } from '../kit/href.ts'
import { panelFacts } from '../kit/panel.tsx'
import { Facts, Id, Moment } from '../kit/values.tsx'
import { Actions } from './actions.tsx'
import {
  Difference,
  Events,
  type LifeFacts,
  lifePath,
  type LifeView,
  Related,
  Reply,
  Slider,
  Sum,
} from './panels.tsx'
import { Refund } from './refund.tsx'
import { Timeline } from './timeline.tsx'
import type { Page, View } from '../page.tsx'

/** One life: the verdict first, then what happened, as a list and a picture at once, and its money. */

/** Facts of a life, of those that it has. */
function factsOf({ life, clock }: LifeView) {
  const { receipt } = life
  const text = (name: string, value: string | null | undefined) =>
    value === null || value === undefined ? [] : [[name, value] as const]
  return [
    ...text('model', receipt?.model),
    ...text('tenant', life.tenant_id),
    ...text('user', life.user_id),
    ...text('token', receipt?.token_id),
    ...(receipt === null
      ? []
      : [
          [
            'request',
            <Id id={receipt.request_id} href={findHref({ q: receipt.request_id })} />,
          ] as const,
        ]),
    ...(receipt?.native_id ? [['id at the provider', <Id id={receipt.native_id} />] as const] : []),
    ...text('route', receipt?.surface),
    ...text('price book', receipt?.price_book_version),
    ...(life.attempts > 1 ? text('attempts', String(life.attempts)) : []),
    ...(life.polls === null ? [] : text('polls', String(life.polls))),
    ...(life.deadline_at === null
      ? []
      : [['deadline', <Moment atMs={fromTimestamp(life.deadline_at)} clock={clock} />] as const]),
  ]
}

function Verdict(view: LifeView): JSX.Element {
  const { life } = view
  return (
    <section class={`verdict ${life.state}`}>
      <p class="eyebrow">
        {life.kind.replaceAll('_', ' ')} · <Id id={life.id} />
      </p>
      <h1>{lifeVerdictOf(life)}</h1>
      {life.aside.map((sentence) => (
        <p key={sentence} class="aside">
          {sentence}
        </p>
      ))}
      <Facts facts={factsOf(view)} />
    </section>
  )
}

function Picture(view: LifeView): JSX.Element {
  const { life, clock, currency, nowMs, shownStep } = view
  const { steps, deadline_at: deadline, last_asked_at: asked } = life
  const ahead =
    deadline === null
      ? undefined
      : {
          deadlineMs: fromTimestamp(deadline),
          lastAskedMs: asked === null ? undefined : fromTimestamp(asked),
        }
  return (
    <div id="picture">
      <Slider {...view} />
      <section class="panel" aria-labelledby="steps">
        <h2 id="steps">What happened</h2>
        <Timeline
          steps={steps}
          clock={clock}
          currency={currency}
          nowMs={nowMs}
          atStep={shownStep === steps.length ? undefined : shownStep}
          ahead={ahead}
        />
      </section>
      <Difference {...view} />
    </div>
  )
}

function LifePage({ facts, view }: { readonly facts: LifeFacts; readonly view: View }) {
  const { life, at, against, tz } = facts
  const shown: LifeView = {
    ...view,
    ...facts,
    currency: life.receipt?.currency ?? '',
    shownStep: at ?? life.steps.length,
    hrefAt: (step) => lifeHref(life.id, { at: step, against, tz }),
  }
  return (
    <>
      <Verdict {...shown} />
      <Picture {...shown} />
      <div class="columns">
        <Sum {...shown} />
        <Related {...shown} />
      </div>
      <Actions {...shown} />
      <Refund {...shown} />
      <Reply {...shown} />
      <Events {...shown} />
      <p class="note links">
        The same as JSON, with a query token: <code>GET {lifePath(life)}</code>
      </p>
    </>
  )
}

/** The life of a call, a task, an asset or a file. */
export const lifePage: Page<typeof LifeQuerySchema, LifeFacts> = {
  path: paths.life,
  roles: ['finance', 'support'],
  query: LifeQuerySchema,
  read: async ({ queries: { reads } }, who, { id, query: { at, against, tz } }) => {
    const life = await readLife(reads, who, id, { at, against, tz })
    const history = await panelFacts(who, ['support'], () => readHistory(reads, who, life.id))
    return { life, history, reply: ticketOf(life).reply, at, against, tz }
  },
  tenantsOf: ({ life }) => [life.tenant_id],
  title: ({ life }) => life.id,
  word: ({ life }) => life.id,
  show: (facts, view) => <LifePage facts={facts} view={view} />,
}
