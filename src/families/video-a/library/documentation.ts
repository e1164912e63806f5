import type { FastifySchema } from 'fastify'
import { Type, type Static } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { answer } from '../../../api/kit/answer-documentation.ts'
import { failureResponses } from '../../../api/kit/failure-documentation.ts'
import { RequestError } from '../../../api/kit/request-error.ts'
import { actionNames, VERSION } from './asked.ts'
import { libraryEnvelope } from './envelope.ts'
import { actionFailures } from './failures.ts'
import { ActionBodySchema, ActionQuerySchema, ResultSchema } from './schemas.ts'

const metadata = {
  RequestId: Type.String({ description: 'Our id of the request, as in x-request-id.' }),
  Action: Type.Optional(Type.Enum([...actionNames])),
  Version: Type.Optional(Type.Enum([VERSION])),
  Service: Type.Literal('assets'),
  Region: Type.Optional(Type.Literal('overseas', { description: 'Where it is kept overseas.' })),
} as const

const AnswerSchema = Type.Object({
  ResponseMetadata: Type.Object(metadata),
  Result: ResultSchema,
})

const ErrorSchema = Type.Object({
  ResponseMetadata: Type.Object({
    ...metadata,
    Error: Type.Object({ Code: Type.String(), Message: Type.String() }),
  }),
})

const shape = {
  envelope: libraryEnvelope(`/provA/?Action=GetAsset&Version=${VERSION}`),
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { Code: name, Message: message } = (body as Static<typeof ErrorSchema>).ResponseMetadata
      .Error
    return { name, message }
  },
}

/** Failures that say more than their kind. */
const further = [
  new DomainError('invalid_request', '`Id` is required, and spelt like this', {
    param: 'Id',
    lacks: 'Id',
  }),
  new RequestError('parameter_invalid', `\`Version\` must be ${VERSION}`, 'Version'),
]

/** What the OpenAPI description says of all actions: they are one route. */
export const actionSchema: FastifySchema = {
  operationId: 'runAssetAction',
  tags: ['Assets'],
  summary: 'Run an action of the asset library or of the verification of real persons',
  description:
    'As `/provA/?Action=<Action>` too. What stands in the body and in `Result` goes by the action.',
  security: [{ modelToken: [] }],
  querystring: ActionQuerySchema,
  body: ActionBodySchema,
  response: {
    200: answer({ json: AnswerSchema }),
    ...failureResponses(shape, actionFailures, further),
  },
}
