import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { type Static, type TObject, Type } from 'typebox'
import { NewId } from '../api/kit/routes/account-surface.ts'
import { principalOf } from '../api/kit/tokens/authenticate.ts'
import { RequestError, toRequestError } from '../api/kit/request-error.ts'
import { queryReader } from '../api/kit/bodies/validator.ts'
import type { TokenRole } from '../domain/token/events.ts'
import { failureOf, isDefect } from './failure.ts'
import { fieldsOf } from './form-body.ts'
import { inZone, zoneIn } from './kit/href.ts'
import {
  answerPage,
  viewReasonBeforeChange,
  type ConsoleServices,
  type Page,
  sendPage,
} from './page.tsx'

/** Forms below pages: each declares its fields by the members of the API, and calls a use case of it. */

/** The field of every form that names its request: it becomes the id of what the form makes. */
const keyMember = { key: NewId('Key of a form.') }

/** A page that is shown once, as the answer to a form. */
interface ShownOnce {
  readonly title: string
  readonly children: JSX.Element
}

/** A form that was sent: its fields are checked. */
export interface SentForm<Fields extends TObject> {
  /** The id in the address of the page. */
  readonly id: string
  readonly key: string
  readonly fields: Static<Fields>
}

/** A form below a page, for holders of admin tokens. */
export interface PageForm<Fields extends TObject> {
  /** The path of the form below the page, such as `note`. */
  readonly name: string
  /** Roles that may send it, in addition to tokens without one. */
  readonly roles: readonly TokenRole[]
  /** Members of the API with their schemas; a field that is left empty is not given. */
  readonly fields: Fields
  /** The query of the page that is shown where the form is refused, by the fields as they were written. */
  readonly queryOf?: (written: Readonly<Record<string, string>>) => object
  /**
   * Calls a use case of the API; the answer is the address to go on to, or a page that is shown once.
   * @throws DomainError; the page shows its words below the field that it names
   */
  readonly act: (request: FastifyRequest, sent: SentForm<Fields>) => Promise<string | ShownOnce>
}

/** Reads the fields of a form by the rules of the API. @throws RequestError that names the field */
export function fieldReader<Fields extends TObject>(
  fields: Fields,
): (sent: Readonly<Record<string, string>>) => Static<Fields> {
  const read = queryReader(fields)
  return (sent) => {
    const given = Object.entries(sent).filter(([, text]) => text !== '')
    const checked: { readonly error?: unknown; readonly value?: unknown } = read(
      Object.fromEntries(given),
    )
    if (checked.error !== undefined) throw toRequestError({ validation: checked.error })
    // The schema has checked it.
    return checked.value as Static<Fields>
  }
}

/** The fields as they were written, without blanks around them. */
export function writtenIn(request: FastifyRequest, names: readonly string[]) {
  const sent = Object.entries(fieldsOf(request, names))
  return Object.fromEntries(sent.map(([name, text]) => [name, text.trim()]))
}

/** Registers a form of a page: it leads on once it is done, and is shown again where it is refused. */
export function formRoute<Query extends TObject, Facts, Fields extends TObject>(
  app: FastifyInstance,
  services: ConsoleServices,
  page: Page<Query, Facts>,
  { name, roles, fields, queryOf, act }: PageForm<Fields>,
): void {
  const names = [...Object.keys(fields.properties), 'key']
  const read = fieldReader(Type.Object({ ...fields.properties, ...keyMember }))
  const readQuery = queryReader(page.query)
  // A form may be sent with anything.
  const shownQuery = (asked: object) => ('error' in readQuery(asked) ? {} : asked) as Static<Query>
  app.post<{ Params: { id?: string } }>(
    `${page.path}/${name}`,
    { config: { roles }, schema: { hide: true } },
    async (request, reply) => {
      const { id = '' } = request.params
      // The form keeps the zone of its page.
      const tz = zoneIn(request.url)
      const written = writtenIn(request, names)
      if (principalOf(request).kind !== 'admin')
        throw new RequestError('wrong_token_kind', 'This needs a session of an admin token')
      try {
        const { key, ...checked } = read(written) as Static<Fields> & { readonly key: string }
        const reasonHref = await viewReasonBeforeChange(services, page, request, id)
        if (reasonHref !== undefined) return await reply.redirect(reasonHref, 303)
        // Without the key, these are the declared fields.
        const done = await act(request, { id, key, fields: checked as unknown as Static<Fields> })
        if (typeof done === 'string') return await reply.redirect(inZone(done, tz), 303)
        return await sendPage(request, reply, done)
      } catch (error) {
        const failure = failureOf(error, request.id)
        if (isDefect(failure)) throw error
        const { status, message, param } = failure
        void reply.code(status)
        const fault = { form: name, message, param, written }
        const query = shownQuery({ ...queryOf?.(written), ...(tz === undefined ? {} : { tz }) })
        return answerPage(services, page, request, reply, { id, query }, fault)
      }
    },
  )
}
