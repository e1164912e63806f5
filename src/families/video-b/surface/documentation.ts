import { Type, type Static } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { taskDescriber } from '../../../api/kit/task-documentation.ts'
import { provBV2Envelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  type: Type.Enum(['error']),
  error: Type.Object({
    type: Type.String(),
    message: Type.String({ description: 'Ends with the number of the error in brackets.' }),
    http_code: Type.String({ description: 'The status of the answer.' }),
  }),
  request_id: Type.String({ description: 'Our id of the request.' }),
})

const shape = {
  envelope: provBV2Envelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { type: name, message } = (body as Static<typeof ErrorSchema>).error
    return { name: `${name} ${/\((\d+)\)$/.exec(message)?.[1] ?? ''}`, message }
  },
}

/** An input that the model service's moderation took. */
const moderated = new DomainError('submission_refused', '', {
  kind: 'invalid',
  upstreamCode: '1026',
})

export const describe = taskDescriber(shape, [moderated])
