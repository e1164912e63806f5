import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestError } from '../api/kit/request-error.ts'

/** Forms as browsers send them, read strictly. */

/** The largest form. */
export const FORM_BYTES = 8 * 1024

/** Reads forms below the plugin, and nothing else. */
export function useForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES },
    (_request, text: string, done) => done(null, new URLSearchParams(text)),
  )
}

/**
 * The fields of a form by their names; empty where one is missing.
 * @throws RequestError for a field that the form does not have, and for one that it has twice
 */
export function fieldsOf<Name extends string>(
  { body }: FastifyRequest,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const sent = body instanceof URLSearchParams ? body : new URLSearchParams()
  const given = [...sent.keys()]
  const odd = given.find((name, index) => {
    const isKnown = names.some((one) => one === name)
    return !isKnown || given.indexOf(name) !== index
  })
  if (odd !== undefined) {
    const shown = odd.slice(0, 64)
    throw new RequestError('body_invalid', `The form has no field ${shown}, or has it twice`)
  }
  const fields = names.map((name) => [name, sent.get(name) ?? ''])
  return Object.fromEntries(fields) as Readonly<Record<Name, string>>
}
