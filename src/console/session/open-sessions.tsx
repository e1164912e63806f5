import type { FastifyInstance } from 'fastify'
import type { JSX } from 'preact'
import { Type } from 'typebox'
import { RequestError } from '../../api/kit/request-error.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import {
  type ListedSession,
  MOST_LISTED,
  type SessionsOf,
} from '../../app/access/console-sessions.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fieldsOf } from '../form-body.ts'
import { paths, sessionsHref, tokenHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'
import { type ConsoleServices, type Page, pageRoute } from '../page.tsx'

/** Sessions that have not ended: those of the reader's token, and for administrators those of their tenant. */

/** The sessions that a reader may see and end. */
function endableBy({ kind, role, tokenId, tenantId, scope }: Principal): SessionsOf {
  if (kind !== 'admin' || role !== undefined) return { tokenId }
  return isOperator({ kind, scope }) ? { all: true } : { tenantId }
}

const browsers = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(?:e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const

/** A browser in words, such as `Firefox on Linux`. */
function browserInWords(sent: string): string {
  const nameIn = (known: readonly (readonly [RegExp, string])[]) =>
    known.find(([pattern]) => pattern.test(sent))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  if (browser === undefined) return sent === '' ? 'not recorded' : 'another program'
  return system === undefined ? browser : `${browser} on ${system}`
}

interface Facts {
  readonly sessions: readonly ListedSession[]
  readonly token: Principal
}

const columnsOf = ({ token }: Facts, clock: ZoneClock): readonly TableColumn<ListedSession>[] => {
  const time = (atMs: number) => <Moment atMs={atMs} clock={clock} />
  const nameOf = ({ tokenName, tokenId }: ListedSession) => tokenName ?? tokenId
  return [
    {
      name: 'token',
      narrow: 'lead',
      cell: (session) => {
        const { tokenId } = session
        const words = `${nameOf(session)}${tokenId === token.tokenId ? ' (yours)' : ''}`
        return token.kind === 'admin' && token.role !== 'finance' ? (
          <a href={tokenHref(tokenId)}>{words}</a>
        ) : (
          words
        )
      },
    },
    { name: 'last used', cell: ({ seenAtMs }) => time(seenAtMs) },
    { name: 'opened', cell: ({ openedAtMs }) => time(openedAtMs) },
    { name: 'browser', cell: ({ browser }) => browserInWords(browser) },
    { name: 'address', cell: ({ address }) => address },
    {
      name: 'end',
      cell: (session) => (
        <form method="post" action={sessionsHref()}>
          <input type="hidden" name="session" value={session.idHash} />
          <button type="submit" aria-label={`End the session of ${nameOf(session)}`}>
            End
          </button>
        </form>
      ),
    },
  ]
}

function Sessions({
  facts,
  clock,
}: {
  readonly facts: Facts
  readonly clock: ZoneClock
}): JSX.Element {
  return (
    <>
      <h1 class="title">Sessions</h1>
      <Panel id="sessions" title="Open now">
        <Table
          label="Sessions"
          columns={columnsOf(facts, clock)}
          rows={facts.sessions}
          keyOf={({ idHash }) => idHash}
          empty="No session is open."
        />
        {facts.sessions.length < MOST_LISTED ? null : (
          <p class="note">
            The {MOST_LISTED} that were used last. Disabling a token ends all of its sessions.
          </p>
        )}
      </Panel>
    </>
  )
}

const query = Type.Object({ tz: timeRangeMembers.tz })

const sessionsPage: Page<typeof query, Facts> = {
  path: paths.sessions,
  roles: ['finance', 'support'],
  query,
  read: async ({ sessions }, _who, { token }) => {
    return { sessions: await sessions.list(endableBy(token)), token }
  },
  title: () => 'Sessions',
  show: (facts, { clock }) => <Sessions facts={facts} clock={clock} />,
}

/** The page, and the form that ends a session. */
export function openSessionRoutes(app: FastifyInstance, services: ConsoleServices): void {
  pageRoute(app, services, sessionsPage)
  app.post(
    paths.sessions,
    { config: { roles: sessionsPage.roles }, schema: { hide: true } },
    async (request, reply) => {
      const { session } = fieldsOf(request, ['session'])
      // A session that has ended, and one of another tenant, are the same to the reader.
      if (!/^[0-9a-f]{64}$/.test(session))
        throw new RequestError('body_invalid', 'session names a session of the list', 'session')
      await services.sessions.endListed(endableBy(principalOf(request)), session)
      return reply.redirect(sessionsHref(), 303)
    },
  )
}
