import type { TextUpstream } from '../../text/surface/answer-call.ts'
import { callExamples, callFailures } from '../../../api/kit/call-failures.ts'
import type { Surface } from '../../../api/kit/surface.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { v1TextSurface } from '../../text/surface/v1-calls.ts'
import { chatDialect } from './dialect.ts'
import { readChatRequest } from './request.ts'
import { alsoInChat, ChatBodySchema, ChatCompletionSchema } from './schemas.ts'

/** Chat completions, below `/v1`. */
export const chatSurface = (upstream: TextUpstream): Surface =>
  v1TextSurface(
    {
      name: 'v1.chat',
      path: '/chat/completions',
      body: ChatBodySchema,
      alsoKnown: alsoInChat,
      documented: describe({
        tag: 'Text',
        operationId: 'createChatCompletion',
        isCall: true,
        summary: 'Complete a chat',
        ok: ChatCompletionSchema,
        events: 'With `stream`: chunks as `data:` lines, and `[DONE]`.',
        failures: callFailures,
        further: callExamples('messages'),
      }),
      read: (body) => {
        const { stream, includeUsage, ...asked } = readChatRequest(body)
        return { ...asked, dialect: stream ? chatDialect(includeUsage) : undefined }
      },
    },
    upstream,
  )
