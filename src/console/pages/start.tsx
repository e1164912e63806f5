import type { JSX } from 'preact'
import { Type } from 'typebox'
import type { Page } from '../page.tsx'

/** Examples of what can be looked for, each with what it opens. */
const examples = [
  ['call_… video_… image_… speech_…', 'the id of a call or a task, also its beginning'],
  ['chatcmpl-… resp_… cgt-…', 'the id of an answer, or of a task at its provider'],
  ['req_…', 'the x-request-id of an answer, also of a refused one'],
  ['Bs5k', 'the last four characters of a token'],
  ['acme, ann, batch jobs', 'the name or the id of a tenant, a user or a token'],
  [
    '{"error":{"message":…}}',
    'a whole error or log line as it was pasted: the ids in it are found',
  ],
] as const

function StartPage(): JSX.Element {
  return (
    <section class="panel start">
      <h1>What are you looking for?</h1>
      <p>
        Put it into the field above and press Enter: an id, its beginning, a name, or anything that
        a customer has pasted.
      </p>
      <dl class="examples">
        {examples.map(([example, opens]) => (
          <div key={example}>
            <dt>
              <code>{example}</code>
            </dt>
            <dd>{opens}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** The first page: what can be found. */
export const startPage: Page<ReturnType<typeof Type.Object>, undefined> = {
  path: '/',
  roles: ['finance', 'support'],
  query: Type.Object({}),
  read: () => Promise.resolve(undefined),
  title: () => 'Find',
  show: () => <StartPage />,
}
