import type { JSX } from 'preact'
import { readHistory } from '../../api/query/history.ts'
import { readLife } from '../../api/query/lives/route.ts'
import { LifeQuerySchema } from '../../api/query/lives/schemas.ts'
import { ticketOf } from '../../api/query/lives/ticket.ts'
import { readOwnerNames } from '../../api/query/owner-names.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { lifeHref, paths } from '../kit/href.ts'
import { panelFacts } from '../kit/panel.tsx'
import { Actions } from './actions.tsx'
import { Details, Verdict } from './facts.tsx'
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
      <Related {...shown} />
      <Picture {...shown} />
      <div class="columns">
        <Sum {...shown} />
        <Details {...shown} />
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
  read: async (services, who, { id, query: { at, against, tz } }) => {
    const { reads } = services.queries
    const life = await readLife(reads, who, id, { at, against, tz })
    const [history, names] = await Promise.all([
      panelFacts(who, ['support'], () => readHistory(reads, who, life.id)),
      readOwnerNames(services, who, {
        tenantId: life.tenant_id,
        userId: life.user_id ?? undefined,
        tokenId: life.receipt?.token_id,
      }),
    ])
    return { life, names, history, reply: ticketOf(life).reply, at, against, tz }
  },
  tenantsOf: ({ life }) => [life.tenant_id],
  title: ({ life }) => life.id,
  word: ({ life }) => life.id,
  show: (facts, view) => <LifePage facts={facts} view={view} />,
}
