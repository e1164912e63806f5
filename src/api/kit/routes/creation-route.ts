import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from 'fastify'
import type { TSchema } from 'typebox'
import type { JsonObject } from '../../../kernel/json.ts'
import { isForm } from '../bodies/body-budget.ts'
import { objectBody } from '../bodies/json-body.ts'
import { type FormLimits, type ReadForm, readForm, useForms } from '../bodies/multipart.ts'
import { type MemberNames, refuseTyposInParts, typoCheck } from '../bodies/typo-check.ts'

/** A body of a creation as it was sent. */
export interface SentBody {
  /** The members of the JSON, or the fields of the form. */
  readonly body: JsonObject
  /** Undefined: it was JSON. */
  readonly form: ReadForm | undefined
}

type Answer = object | string

/**
 * Registers a route that creates something from JSON or, where `forms` has their bounds, from a form
 * as well. Names of members are checked here; the family checks the rest.
 */
export async function creationRoute(
  instance: FastifyInstance,
  route: {
    /** In the router's syntax. */
    readonly path: string
    readonly schema: FastifySchema
    readonly body: TSchema
    readonly names: MemberNames
    readonly forms: FormLimits | undefined
    readonly config?: FastifyContextConfig
    readonly handler: (
      sent: SentBody,
      request: FastifyRequest,
      reply: FastifyReply,
    ) => Promise<Answer>
  },
): Promise<void> {
  const { path, schema, body, names, forms, config = {}, handler } = route
  const check = typoCheck(body, names)
  const checked = (value: unknown) => {
    const error = check(value)
    return error === undefined ? true : { error }
  }
  const options = {
    config,
    schema: { body, ...schema },
    validatorCompiler: ({ httpPart }: { readonly httpPart?: string }) =>
      httpPart === 'body' ? checked : () => true,
  }
  if (forms === undefined) {
    instance.post(path, options, (request, reply) =>
      handler({ body: objectBody(request.body), form: undefined }, request, reply),
    )
    return
  }
  const checkParts = refuseTyposInParts(check)
  await instance.register(async (app) => {
    await useForms(app)
    app.post(path, options, async (request, reply) => {
      if (!isForm(request))
        return handler({ body: objectBody(request.body), form: undefined }, request, reply)
      const form = await readForm(request, forms)
      checkParts(form)
      return handler({ body: form.fields, form }, request, reply)
    })
  })
}
