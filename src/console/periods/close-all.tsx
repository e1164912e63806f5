import type { JSX } from 'preact'
import { Type } from 'typebox'
import { closeAllFor } from '../../api/admin/periods.ts'
import { MonthMember } from '../../api/kit/routes/account-surface.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { Services } from '../../api/kit/services.ts'
import { isOperator } from '../../domain/token/events.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm, UnplacedFault } from '../kit/form.tsx'
import { periodsHref } from '../kit/href.ts'
import { grouped } from '../kit/values.tsx'
import type { View } from '../page.tsx'
import type { Board, BoardFacts } from './board-facts.ts'
import type { LateFailures } from './late-failures.ts'
import { monthInWords } from './names.ts'

/** The form that closes all months of a board that are ready, and how far it is. */

const FORM = 'close-all'
const months = (count: number): string =>
  `${grouped(String(count))} ${count === 1 ? 'month' : 'months'}`

/** Whether a session may close months. */
export function mayClose(token: Principal): boolean {
  return isOperator(token) && (token.role === undefined || token.role === 'finance')
}

/** Says how the closes of a form that was sent are going, or how they ended. */
function outcomeOf({ query: { begun = '0', looked }, progress }: BoardFacts, ready: number) {
  const all = Number(begun)
  const seen = Number(looked ?? begun)
  const changed =
    seen === all
      ? ''
      : ` The board changed since you looked: ${grouped(String(seen))} were ready then, and ${grouped(String(all))} when this close began.`
  const done = Math.max(0, all - ready)
  if (all === 0) return `Nothing was ready when the form came: the board changed since you looked.`
  if (ready === 0) return `Done: ${months(all)} closed.${changed}`
  if (progress?.asks === true)
    return `Closing ${months(all)}, one after the other: ${grouped(String(done))} done, ${grouped(String(ready))} to go.${changed}`
  return `${months(done)} closed; ${grouped(String(ready))} are ready and were not closed for five minutes. Send the form again: it goes on where it was.${changed}`
}

export function CloseAll({
  facts,
  board,
  view,
}: {
  readonly facts: BoardFacts
  readonly board: Board
  readonly view: View
}): JSX.Element {
  const { query, month, progress } = facts
  const { fault, token, requestKey } = view
  const { ready, blocked } = board.counts
  const { since: _since, ...shown } = query
  const status =
    progress === undefined ? null : (
      <p class="panel notice" role="status">
        {outcomeOf(facts, ready)}
        {progress.asks ? (
          <>
            {' '}
            This page asks again by itself; without script,{' '}
            <a href={periodsHref({ ...shown, month })}>look again</a>.
          </>
        ) : null}
      </p>
    )
  if (!mayClose(token) || ready === 0 || query.tenant_id !== undefined)
    return (
      <>
        <UnplacedFault fault={fault} />
        {status}
      </>
    )
  if (progress?.asks === true) return <>{status}</>
  return (
    <>
      {status}
      <ActionForm
        name={FORM}
        title={`Close all that are ready (${grouped(String(ready))})`}
        page={periodsHref()}
        requestKey={requestKey}
        hidden={{ month, looked: String(ready) }}
        button={`Close ${months(ready)}`}
        fault={fault}
        isOpen
      >
        Closes {monthInWords(month)} for every account that is ready when the form comes, one after
        the other. Each gets the number of its statement and a signature, and never changes from
        then on.{' '}
        {blocked === 0 ? '' : `The ${grouped(String(blocked))} that are blocked stay open.`}
      </ActionForm>
    </>
  )
}

const fields = Type.Object({
  month: MonthMember,
  looked: Type.String({ pattern: '^\\d{1,9}$', words: 'must be a number' }),
})

type Statements = Services['accounts']['statements']

/** Closes every account of a month that is ready; the page that it leads to shows how far that is. */
export const closeAllForm = (
  statements: Statements,
  failures: LateFailures,
  nowMs: () => number,
): PageForm<typeof fields> => ({
  name: FORM,
  roles: ['finance'],
  fields,
  queryOf: ({ month = '' }) => ({ month }),
  act: async (request, { fields: { month, looked } }) => {
    const { closing, done } = await closeAllFor(request, statements, { month })
    void done.then((outcomes) => {
      for (const one of outcomes)
        if ('error' in one) failures.keep(one, one.error)
        else failures.forget(one)
    })
    return periodsHref({ month, begun: closing, looked, sent: nowMs() })
  },
})
