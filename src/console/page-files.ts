import type { FastifyInstance } from 'fastify'
import { type Static, type TObject, Type } from 'typebox'
import { principalOf } from '../api/kit/tokens/authenticate.ts'
import { type FileList, sendFileOf } from '../api/kit/answers/lists.ts'
import type { Principal } from '../app/access/principal.ts'
import { filePath } from './kit/href.ts'
import { sentQuery } from './kit/time-pages.tsx'
import type { ConsoleServices, Page } from './page.tsx'
import { knownQuery } from './page-query.ts'
import { readingAs, viewReasonBefore } from './session/reading-as.ts'

/**
 * Files below pages: the rows of a page as its filter names them, made by the functions that answer the files of the
 * API. A session has no token to ask the API with.
 */

/** A request for the rows of a page as a file. */
interface AskedFile<Query extends TObject, Format extends string> {
  /** The id in the address of the page. */
  readonly id: string
  readonly query: Static<Query>
  readonly format: Format
  /** The token of the session, for lists of the administration. */
  readonly token: Principal
}

/** The rows of a page as a file of one of its formats. */
export interface PageFile<Query extends TObject, Format extends string> {
  readonly formats: readonly Format[]
  /** The members of the filter, and the position that the page is as of. */
  readonly query: Query
  /** Calls functions of the API's routes and nothing else. @throws what they throw */
  readonly read: (
    services: ConsoleServices,
    who: Principal,
    asked: AskedFile<Query, Format>,
  ) => Promise<{
    readonly list: FileList<Format>
    /** The tenants that the file is about: readers from outside give a reason to view them first. */
    readonly tenantIds: readonly (string | undefined)[]
  }>
}

/** Registers the file of a page. */
export function fileRoute<Query extends TObject, Format extends string>(
  app: FastifyInstance,
  services: ConsoleServices,
  { path, roles, names }: Pick<Page<TObject, unknown>, 'path' | 'roles' | 'names'>,
  { formats, query: members, read }: PageFile<Query, Format>,
): void {
  const querystring = Type.Object({ ...members.properties, format: Type.Enum([...formats]) })
  app.get<{ Params: { id?: string } }>(
    filePath(path),
    {
      config: { roles },
      schema: { hide: true, querystring },
      preValidation: (request, _reply, done) => {
        request.query = sentQuery(Object(request.query))
        done()
      },
    },
    async (request, reply) => {
      const token = principalOf(request)
      const { id = '' } = request.params
      // The validator of the route has checked it.
      const { format, ...query } = request.query as Static<Query> & { readonly format: Format }
      const who = readingAs(token)
      const known = await knownQuery(services, who, query as Static<Query>, names?.(id))
      const { list, tenantIds } = await read(services, who, { id, query: known, format, token })
      const reasonHref = viewReasonBefore(request, token, tenantIds)
      if (reasonHref !== undefined) return reply.redirect(reasonHref, 303)
      return sendFileOf(request, reply, format, list)
    },
  )
}
