import type { QuoteUseCases } from '../../../app/quotes/types.ts'
import type { ResolveVoice } from '../../../app/resolve-voice.ts'
import { readClone } from '../../../domain/families/speech/clone-request.ts'
import { VOICE_CLONE } from '../../../domain/families/speech/models.ts'
import { readSpeech } from '../../../domain/families/speech/request.ts'
import { SPEECH } from '../../../domain/families/speech/rules.ts'
import type { ForeignNames } from '../../kit/foreign-members.ts'
import { misspeltRefusal, type QuotedPath } from '../../kit/quoted-path.ts'
import { alsoInSpeech, SpeechBodySchema } from './speech/schemas.ts'
import { CloneBodySchema } from './voices/schemas.ts'

const family = SPEECH

/** What of `/provB/v1` can be priced without being made. */
export function provBV1QuotedPaths({
  quotes,
  resolveVoice,
  foreignMembers: foreign,
}: {
  readonly quotes: QuoteUseCases
  readonly resolveVoice: ResolveVoice
  readonly foreignMembers: ForeignNames
}): readonly QuotedPath[] {
  const check = misspeltRefusal(SpeechBodySchema, alsoInSpeech, { foreign })
  const checkClone = misspeltRefusal(CloneBodySchema, {}, { foreign })
  return [
    {
      path: '/provB/v1/t2a_v2',
      quote: async ({ principal, requestId, body }) => {
        check(body)
        const request = readSpeech(body, 'call')
        const { model } = request
        const voice = await resolveVoice(principal.tenantId, request.voiceId)
        const of = { family, surface: 'provB.speech', principal, requestId }
        return quotes.speech({ ...of, model, request, voice })
      },
    },
    {
      path: '/provB/v1/t2a_async_v2',
      quote: async ({ principal, body }) => {
        check(body)
        const { model, facts, voiceId } = readSpeech(body, 'task')
        await resolveVoice(principal.tenantId, voiceId)
        return quotes.task({ principal, family, model, facts })
      },
    },
    {
      path: '/provB/v1/voice_clone',
      quote: async ({ principal, requestId, body }) => {
        checkClone(body)
        const request = readClone(body)
        const of = { family, surface: 'provB.voice-clone', principal, requestId }
        return quotes.clone({ ...of, model: VOICE_CLONE, request })
      },
    },
  ]
}
