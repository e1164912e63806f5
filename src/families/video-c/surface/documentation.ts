import { Type, type Static } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { taskDescriber } from '../../../api/kit/task-documentation.ts'
import { provCEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  code: Type.Integer({ description: 'The status of the answer.' }),
  reason: Type.String(),
  message: Type.String(),
  metadata: Type.Object({ trace_id: Type.String({ description: 'Our id of the request.' }) }),
})

const shape = {
  envelope: provCEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { reason: name, message } = body as Static<typeof ErrorSchema>
    return { name, message }
  },
}

const lacking = new DomainError('invalid_request', '`model` is required', {
  param: 'model',
  reason: 'FieldLacking',
})

export const describe = taskDescriber(shape, [lacking])
