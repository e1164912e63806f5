import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { type Static, type TObject, Type } from 'typebox'
import { principalOf } from '../api/kit/tokens/authenticate.ts'
import { acceptedEncodings } from '../api/kit/answers/kept-pages.ts'
import { readZone } from '../api/query/time-range.ts'
import type { OperationsReads } from '../api/operating/operations.ts'
import type { Services } from '../api/kit/services.ts'
import type { QueryServices } from '../api/query/services.ts'
import type { ConsoleSessions } from '../app/access/console-sessions.ts'
import type { Principal } from '../app/access/principal.ts'
import type { TokenRole } from '../domain/token/events.ts'
import { newId } from '../kernel/ids.ts'
import type { FormFault } from './kit/form.tsx'
import { hrefOf } from './kit/href.ts'
import { renderPage } from './kit/layout.tsx'
import { type ZoneClock, zoneClock } from './kit/values.tsx'
import { viewReasonBefore, readingAs, seesOtherTenants } from './session/reading-as.ts'

/** Pages: each declares what it reads, who may see it, and how it is shown. */

/** The facts of a request that a page shows as well as its own. */
export interface View {
  readonly clock: ZoneClock
  /** Time of the request, Unix milliseconds. */
  readonly nowMs: number
  /** The token of the session. */
  readonly token: Principal
  /** A key for the request of a form on the page. */
  readonly requestKey: string
  /** Where a reason must be given before something of a tenant is shown; undefined: none must. */
  readonly viewReasonFor: (tenantId: string) => string | undefined
  /** The form that was refused, if this page answers one. */
  readonly fault: FormFault | undefined
}

/** Another page instead of this one. */
export class Redirect {
  readonly href: string
  constructor(href: string) {
    this.href = href
  }
}

/** The answer 204 to a part that asks by itself: the browser keeps what it shows. */
export class Unchanged {
  readonly status = 204
}

/** The use cases that pages and their forms call. */
export type ConsoleServices = QueryServices &
  Pick<Services, 'accounts'> & {
    readonly operations: OperationsReads
    readonly sessions: Pick<ConsoleSessions, 'viewed'>
  }

/** A request for a page. */
interface Asked<Query extends TObject> {
  readonly id: string
  readonly query: Static<Query>
}

/** A page of the console. */
export interface Page<Query extends TObject, Facts> {
  /** The path of the page below the console; `:id` stands for an id. */
  readonly path: string
  /** The roles that may see it, in addition to tokens without one. */
  readonly roles: readonly TokenRole[]
  readonly query: Query
  /** True for a page of the process itself, which is shown while Postgres is away as well. */
  readonly showsProcess?: true
  /** Calls functions of the API's routes and nothing else. @throws what they throw */
  readonly read: (
    services: ConsoleServices,
    who: Principal,
    asked: Asked<Query> & { readonly token: Principal },
  ) => Promise<Facts | Redirect | Unchanged>
  /** The tenants that the page is about: readers from outside give a reason to view them first. */
  readonly tenantsOf?: (facts: Facts) => readonly (string | undefined)[]
  readonly title: (facts: Facts) => string
  /** The word that the search field shows. */
  readonly word?: (facts: Facts) => string
  readonly show: (facts: Facts, view: View) => JSX.Element
}

/** The smallest page that is compressed. */
const COMPRESSED_BYTES = 1_024

/** Answers a page. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Omit<Parameters<typeof renderPage>[0], 'path' | 'reader'>,
): Promise<FastifyReply> {
  const [path = ''] = request.url.split('?', 1)
  const text = renderPage({ ...page, path, reader: request.reader })
  void reply.type('text/html; charset=utf-8').header('vary', 'Accept-Encoding')
  if (!acceptedEncodings(request).has('gzip') || text.length < COMPRESSED_BYTES)
    return reply.send(text)
  return reply.header('content-encoding', 'gzip').send(await promisify(gzip)(text))
}

/** The clock of the zone that a query names. @throws RequestError for an unknown zone */
function clockOf(query: object): ZoneClock {
  const name: unknown = Reflect.get(query, 'tz')
  const named = typeof name === 'string' ? name : 'UTC'
  return zoneClock(named, readZone(named))
}

/** The address of a page with the given members of its query. */
function shortUrl({ url }: FastifyRequest, query: unknown): string {
  const [path = ''] = url.split('?', 1)
  return hrefOf(path.slice('/console'.length), Object(query))
}

/** A form sends a field that was not filled in as an empty text. */
export function leaveOutEmpty(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: () => void,
): void {
  const given = Object.entries(Object(request.query)).filter(([, value]) => value !== '')
  request.query = Object.fromEntries(given)
  done()
}

/** Reads a page and answers it, also where it answers a form that was refused. */
export async function answerPage<Query extends TObject, Facts>(
  services: ConsoleServices,
  { read, show, tenantsOf, title, word }: Page<Query, Facts>,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked<Query>,
  fault?: FormFault,
): Promise<FastifyReply> {
  const token = principalOf(request)
  const who = readingAs(token)
  // The address of a filter has what was filled in, and no more; a part that asks by itself has none.
  if (request.headers['hx-request'] !== undefined && !('since' in Object(asked.query)))
    void reply.header('hx-push-url', shortUrl(request, asked.query))
  const facts = await read(services, who, { ...asked, token })
  if (facts instanceof Unchanged) return reply.code(facts.status).send()
  if (facts instanceof Redirect) return reply.redirect(facts.href, 303)
  const reasonHref = viewReasonBefore(request, token, tenantsOf?.(facts) ?? [])
  // The script would put a part of the form into the page.
  if (reasonHref !== undefined && request.headers['hx-request'] !== undefined)
    return reply.header('hx-redirect', reasonHref).send()
  if (reasonHref !== undefined) return reply.redirect(reasonHref, 303)
  const clock = clockOf(Object(asked.query))
  const nowMs = services.clock.nowMs()
  const tenantIds = [...new Set(tenantsOf?.(facts).filter((id) => id !== undefined))]
  const requestKey = newId('note', nowMs)
  const viewReasonFor = (tenantId: string) => viewReasonBefore(request, token, [tenantId])
  const children = show(facts, { clock, nowMs, token, requestKey, viewReasonFor, fault })
  return sendPage(request, reply, {
    title: title(facts),
    zone: clock.zone,
    printed: { clock, madeAtMs: nowMs, tenantIds, asked: Object(asked.query) },
    word: word?.(facts),
    children,
  })
}

/**
 * The form that must be sent before a form of a page changes what the page is about; undefined: none must.
 * @throws what the page throws
 */
export async function viewReasonBeforeChange<Query extends TObject, Facts>(
  services: ConsoleServices,
  { read, tenantsOf }: Page<Query, Facts>,
  request: FastifyRequest,
  id: string,
): Promise<string | undefined> {
  const token = principalOf(request)
  if (tenantsOf === undefined || !seesOtherTenants(token)) return undefined
  const facts = await read(services, readingAs(token), { id, query: {} as Static<Query>, token })
  if (facts instanceof Unchanged || facts instanceof Redirect) return undefined
  return viewReasonBefore(request, token, tenantsOf(facts))
}

/** The page that is led to checks it. */
const AnyQuery = Type.Object({}, { additionalProperties: true })

/** Redirects the address that a page had before, with its query: it may be kept in bookmarks and messages. */
export function formerAddress(
  app: FastifyInstance,
  former: string,
  roles: readonly TokenRole[],
  href: (id: string) => string,
): void {
  app.get<{ Params: { id?: string } }>(
    former,
    { config: { roles }, schema: { hide: true, querystring: AnyQuery } },
    ({ params: { id = '' }, url }, reply) =>
      // Only the query: its characters are escaped by the parser.
      reply.redirect(`${href(id)}${new URL(url, 'http://console').search}`, 301),
  )
}

/** Registers a page. */
export function pageRoute<Query extends TObject, Facts>(
  app: FastifyInstance,
  services: ConsoleServices,
  page: Page<Query, Facts>,
): void {
  app.get<{ Params: { id?: string } }>(
    page.path,
    {
      config: { roles: page.roles, showsProcess: page.showsProcess === true },
      schema: { hide: true, querystring: page.query },
      preValidation: leaveOutEmpty,
    },
    (request, reply) => {
      // The validator of the route has checked it.
      const query = request.query as Static<Query>
      return answerPage(services, page, request, reply, { id: request.params.id ?? '', query })
    },
  )
}
