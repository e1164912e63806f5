import type { JSX } from 'preact'
import { overviewHref } from './kit/href.ts'

/** A failure as a page shows it, in the words of the API. */
export interface Problem {
  readonly status: number
  readonly message: string
  readonly requestId: string
}

const titles: Readonly<Record<number, string>> = {
  400: 'Not understood',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Not offered',
  413: 'Too large',
  415: 'Not understood',
  422: 'Too much at once',
  429: 'Too many requests',
  503: 'Not available now',
}

const SHOULD_WAIT = 'Nothing was changed. Load the page again in a moment.'
const advice: Readonly<Record<number, string>> = {
  404: 'Check the id, or find it by a part of it. What belongs to others reads as missing.',
  422: 'Choose a shorter time, or one tenant.',
  429: 'Wait a moment, then load the page again.',
  500: 'This is a defect of the gateway: report the id of the request.',
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
        <a href={overviewHref()}>To the first page</a> · request <code>{requestId}</code>
      </p>
    </section>
  )
}
