import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import type { Static, TObject } from 'typebox'
import { principalOf } from '../api/kit/authenticate.ts'
import { readZone } from '../api/query/time-range.ts'
import type { QueryServices } from '../api/query/services.ts'
import type { Principal } from '../app/access/principal.ts'
import type { TokenRole } from '../domain/token/events.ts'
import { hrefOf } from './kit/href.ts'
import { renderPage } from './kit/layout.tsx'
import { type ZoneClock, zoneClock } from './kit/values.tsx'

/** One page: what it reads, who may see it, and how it looks. */

/** The facts of a request that a page shows as well as its own. */
export interface View {
  readonly clock: ZoneClock
  /** Time of the request, Unix milliseconds. */
  readonly nowMs: number
  readonly role: TokenRole | undefined
}

/** Another page instead of this one. */
export class Elsewhere {
  readonly href: string
  constructor(href: string) {
    this.href = href
  }
}

/** A page of the console. */
export interface Page<Query extends TObject, Facts> {
  /** Its path below the console; `:id` stands for an id. */
  readonly path: string
  /** The roles that may see it, in addition to tokens without one. */
  readonly roles: readonly TokenRole[]
  readonly query: Query
  /** Calls functions of the API's routes and nothing else. @throws what they throw */
  readonly read: (
    services: QueryServices,
    who: Principal,
    asked: { readonly id: string; readonly query: Static<Query> },
  ) => Promise<Facts | Elsewhere>
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
  const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  if (!takesGzip || text.length < COMPRESSED_BYTES) return reply.send(text)
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
function leaveOutEmpty(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const given = Object.entries(Object(request.query)).filter(([, value]) => value !== '')
  request.query = Object.fromEntries(given)
  done()
}

/** Registers a page. */
export function pageRoute<Query extends TObject, Facts>(
  app: FastifyInstance,
  services: QueryServices,
  page: Page<Query, Facts>,
): void {
  app.get<{ Params: { id?: string } }>(
    page.path,
    {
      config: { roles: page.roles },
      schema: { hide: true, querystring: page.query },
      preValidation: leaveOutEmpty,
    },
    async (request, reply) => {
      const who = principalOf(request)
      // The validator of the route has checked it.
      const query = request.query as Static<Query>
      // The address of a filter has what was filled in, and no more.
      if (request.headers['hx-request'] !== undefined)
        void reply.header('hx-push-url', shortUrl(request, query))
      const facts = await page.read(services, who, { id: request.params.id ?? '', query })
      if (facts instanceof Elsewhere) return reply.redirect(facts.href, 303)
      const clock = clockOf(Object(query))
      const view = { clock, nowMs: services.clock.nowMs(), role: who.role }
      const children = page.show(facts, view)
      const [title, word] = [page.title(facts), page.word?.(facts)]
      return sendPage(request, reply, { title, zone: clock.zone, word, children })
    },
  )
}
