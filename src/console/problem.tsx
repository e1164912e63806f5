import type { JSX } from 'preact'
import { operationsHref, overviewHref } from './kit/href.ts'

/** A failure as a page shows it, in the words of the API. */
export interface Problem {
  readonly status: number
  readonly message: string
  readonly requestId: string
}

const titles: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  413: 'Request too large',
  415: 'Unsupported format',
  422: 'Too much for one page',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
}

const SHOULD_WAIT = 'Nothing was changed. Load the page again in a moment.'
const advice: Readonly<Record<number, string>> = {
  404: 'Check the id, or search for its beginning. Records that this token may not see are shown as missing.',
  422: 'Choose a shorter time, or one tenant.',
  429: 'Wait a moment, then load the page again.',
  500: 'This is a defect of the gateway. Report the request id below.',
  503: SHOULD_WAIT,
}

export function problemTitle({ status }: Problem): string {
  return titles[status] ?? 'Something went wrong'
}

/** A failure in words: the cause and the next step. */
export function ProblemPage({ problem }: { readonly problem: Problem }): JSX.Element {
  const { status, message, requestId } = problem
  const next = advice[status]
  return (
    <section class="panel problem">
      <h1>{problemTitle(problem)}</h1>
      <p>{message}</p>
      {next === undefined ? null : <p class="note">{next}</p>}
      <p class="note">
        <a href={overviewHref()}>Go to the overview</a>
        {status === 503 ? (
          <>
            {' '}
            · <a href={operationsHref()}>Operations</a>, for operators, has what is unavailable
          </>
        ) : null}{' '}
        · request <code>{requestId}</code>
      </p>
    </section>
  )
}
