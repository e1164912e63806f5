import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { type Static, type TObject, Type } from 'typebox'
import { principalOf } from '../api/kit/tokens/authenticate.ts'
import { acceptedEncodings } from '../api/kit/answers/kept-pages.ts'
import { toRequestError } from '../api/kit/request-error.ts'
import { visibleTo } from '../api/query/scope.ts'
import { readZone, timeRangeMembers } from '../api/query/time-range.ts'
import type { OperationsReads } from '../api/operating/operations.ts'
import type { Services } from '../api/kit/services.ts'
import type { QueryServices } from '../api/query/services.ts'
import type { ConsoleSessions } from '../app/access/console-sessions.ts'
import type { Principal } from '../app/access/principal.ts'
import type { TokenRole } from '../domain/token/events.ts'
import { newId } from '../kernel/ids.ts'
import { failureOf } from './failure.ts'
import { FaultyFilter, type Filter } from './kit/filter.tsx'
import type { FormFault } from './kit/form.tsx'
import { hrefOf, zoneIn } from './kit/href.ts'
import { renderPage } from './kit/layout.tsx'
import { sentQuery } from './kit/time-pages.tsx'
import { type ZoneClock, zoneClock } from './kit/values.tsx'
import { knownQuery, onlyTenant, textsIn, zoneOf } from './page-query.ts'
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

/** Members of the address of each page, by its path. */
export type KnownPages = ReadonlyMap<string, ReadonlySet<string>>

/** The use cases that pages and their forms call. */
export type ConsoleServices = QueryServices &
  Pick<Services, 'accounts'> & {
    readonly operations: OperationsReads
    /** Filled with each page that is registered. */
    readonly pages: Map<string, ReadonlySet<string>>
    readonly sessions: Pick<ConsoleSessions, 'viewed' | 'list' | 'endListed'>
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
  /** The tenant that the id in the address names: its zone is the page's. */
  readonly tenantIn?: (id: string) => string
  /** Names that the address has apart from its query; they are checked with those of the query. */
  readonly names?: (id: string) => { readonly tenant_id: string }
  /** The filter of the page, which says what is wrong with a query. */
  readonly filter?: (id: string) => Filter
  readonly title: (facts: Facts) => string
  /** The word that the search field shows. */
  readonly word?: (facts: Facts) => string
  readonly show: (facts: Facts, view: View) => JSX.Element
}

/** The smallest page that is compressed. */
const COMPRESSED_BYTES = 1_024
/** Half the processor time of the usual level, for a twentieth more bytes; handing a page to another thread costs more. */
const GZIP_LEVEL = 3

/** Answers a page. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Omit<Parameters<typeof renderPage>[0], 'path' | 'query' | 'reader'>,
): FastifyReply {
  const [path = ''] = request.url.split('?', 1)
  // The address of a form is that of no page.
  const query = request.method === 'POST' ? undefined : textsIn(request.query)
  const text = renderPage({ ...page, path, query, reader: request.reader })
  void reply.type('text/html; charset=utf-8').header('vary', 'Accept-Encoding')
  if (!acceptedEncodings(request).has('gzip') || text.length < COMPRESSED_BYTES)
    return reply.send(text)
  return reply.header('content-encoding', 'gzip').send(gzipSync(text, { level: GZIP_LEVEL }))
}

/** The address of a page with the given members of its query. */
function shortUrl({ url }: FastifyRequest, query: unknown): string {
  const [path = ''] = url.split('?', 1)
  return hrefOf(path.slice('/console'.length), Object(query))
}

/**
 * Reads a page in its zone: that of its address, else that of the tenant that it is about. The names in its query
 * are checked first, by the guard of the API's routes. @throws what the page throws
 */
async function readPage<Query extends TObject, Facts>(
  services: ConsoleServices,
  { read, names, tenantIn, tenantsOf }: Page<Query, Facts>,
  token: Principal,
  { id, query }: Asked<Query>,
) {
  const who = readingAs(token)
  const { tz: asked, tenant_id: tenantNamed } = textsIn(query)
  readZone(asked)
  const known = await knownQuery(services, who, query, names?.(id))
  const readIn = (tz: string | undefined) =>
    read(services, who, { id, token, query: tz === undefined ? known : { ...known, tz } })
  const about = visibleTo(who).tenantId ?? tenantNamed ?? tenantIn?.(id)
  const tz = asked ?? (await zoneOf(services, about))
  const facts = await readIn(tz)
  if ((tz ?? about) !== undefined || facts instanceof Redirect || facts instanceof Unchanged)
    return { facts, tz }
  // An operator asked for a thing, such as a call, whose tenant is known by now.
  const later = await zoneOf(services, onlyTenant(tenantsOf?.(facts) ?? []))
  return later === undefined ? { facts, tz } : { facts: await readIn(later), tz: later }
}

/** Reads a page and answers it, also where it answers a form that was refused. */
export async function answerPage<Query extends TObject, Facts>(
  services: ConsoleServices,
  page: Page<Query, Facts>,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked<Query>,
  fault?: FormFault,
): Promise<FastifyReply> {
  const { show, tenantsOf, title, word } = page
  const token = principalOf(request)
  // The address of a filter has what was filled in, and no more; a part that asks by itself has none.
  if (request.headers['hx-request'] !== undefined && !('since' in Object(asked.query)))
    void reply.header('hx-push-url', shortUrl(request, asked.query))
  const { facts, tz } = await readPage(services, page, token, asked)
  if (facts instanceof Unchanged) return reply.code(facts.status).send()
  if (facts instanceof Redirect) return reply.redirect(facts.href, 303)
  const reasonHref = viewReasonBefore(request, token, tenantsOf?.(facts) ?? [])
  if (reasonHref !== undefined) return leadTo(request, reply, reasonHref)
  const zone = tz ?? 'UTC'
  const clock = zoneClock(zone, readZone(zone))
  const nowMs = services.clock.nowMs()
  const tenantIds = [...new Set(tenantsOf?.(facts).filter((id) => id !== undefined))]
  const requestKey = newId('note', nowMs)
  const viewReasonFor = (tenantId: string) => viewReasonBefore(request, token, [tenantId])
  const children = show(facts, { clock, nowMs, token, requestKey, viewReasonFor, fault })
  return sendPage(request, reply, {
    title: title(facts),
    zone,
    tz,
    printed: { clock, madeAtMs: nowMs, tenantIds, asked: Object(asked.query) },
    word: word?.(facts),
    children,
  })
}

/** Leads to another page; the script would put a part of it into the page. */
function leadTo(request: FastifyRequest, reply: FastifyReply, href: string): FastifyReply {
  return request.headers['hx-request'] === undefined
    ? reply.redirect(href, 303)
    : reply.header('hx-redirect', href).send()
}

/** Shows the filter of a page again with the words of a query that was refused. @throws any other failure */
async function answerFault<Query extends TObject, Facts>(
  { query, filter, names }: Page<Query, Facts>,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  error: unknown,
): Promise<FastifyReply> {
  const { status, message, param } = failureOf(error, request.id)
  if (status !== 400) throw error
  const sent = textsIn(request.query)
  const tenantId = names?.(id).tenant_id ?? sent['tenant_id']
  // The words may suggest names of the tenant.
  const reasonHref =
    param === 'tenant_id' ? undefined : viewReasonBefore(request, principalOf(request), [tenantId])
  if (reasonHref !== undefined) return leadTo(request, reply, reasonHref)
  if (filter === undefined) throw error
  const shown = filter(id)
  const known = Object.entries(sent).filter(([name]) => name in query.properties && name !== 'tz')
  const tz = zoneIn(request.url)
  const values = Object.fromEntries(tz === undefined ? known : [...known, ['tz', tz]])
  return sendPage(request, reply.code(status), {
    title: shown.title,
    zone: tz ?? 'UTC',
    tz,
    children: <FaultyFilter filter={shown} values={values} fault={{ message, param }} />,
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
  // Links from other pages carry their zone.
  const querystring = Type.Object({ ...page.query.properties, tz: timeRangeMembers.tz })
  services.pages.set(page.path, new Set(Object.keys(querystring.properties)))
  app.get<{ Params: { id?: string } }>(
    page.path,
    {
      config: { roles: page.roles, showsProcess: page.showsProcess === true },
      schema: { hide: true, querystring },
      attachValidation: true,
      preValidation: (request, _reply, done) => {
        request.query = sentQuery(Object(request.query))
        done()
      },
    },
    async (request, reply) => {
      const { id = '' } = request.params
      try {
        if (request.validationError !== undefined) throw toRequestError(request.validationError)
        // The validator of the route has checked it.
        const query = request.query as Static<Query>
        return await answerPage(services, page, request, reply, { id, query })
      } catch (error) {
        return answerFault(page, request, reply, id, error)
      }
    },
  )
}
