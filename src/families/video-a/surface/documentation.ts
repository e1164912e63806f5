import { Type, type Static } from 'typebox'
import { DomainError } from '../../../kernel/errors.ts'
import { taskDescriber } from '../../../api/kit/task-documentation.ts'
import { provAEnvelope } from './envelope.ts'

const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    param: Type.String({ description: 'The offending field, or empty.' }),
    type: Type.String(),
  }),
})

const shape = {
  envelope: provAEnvelope,
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { code, message } = (body as Static<typeof ErrorSchema>).error
    return { name: code, message }
  },
}

const lacking = new DomainError('invalid_request', '`duration` is required', { param: 'duration' })

export const describe = taskDescriber(shape, [lacking])
