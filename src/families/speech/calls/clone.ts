import type { CallFamily, PricingInput } from '../../../app/calls/family.ts'
import type { CrashPoint } from '../../../app/crash-points.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import { refusalOf } from '../../../app/channels/refusal.ts'
import { keptApart } from '../../../app/files/uploads/media-files.ts'
import { namedUpload, type OwnUpload } from '../../../app/files/uploads/own-upload.ts'
import { voiceDecider, voiceExists } from '../../../domain/voice/decider.ts'
import { voiceStream } from '../../../domain/voice/events.ts'
import { executeCommand } from '../../../eventlog/log/execute.ts'
import { createLookUps, type LookUps } from '../../../eventlog/log/look-ups.ts'
import type { EventLog } from '../../../eventlog/log/types.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type Clock, toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { CloneAnswer, CloneOrder, CloneProvider, SpeechProvider } from '../ports.ts'
import type { CloneRequest } from '../rules/clone-request.ts'
import { type CloneSeen, priceClone } from '../rules/pricing.ts'
import {
  createSpeechFamily,
  type SpeechCallFamily,
  type Cloned,
  type CloneInput,
} from './family.ts'
import { createResolveVoice, createVoiceBook, type ResolveVoice, type VoiceBook } from './voices.ts'

/** Dependencies of clones, in addition to those of every call. */
interface CloneDeps {
  readonly log: EventLog
  readonly clock: Clock
  readonly clones: CloneProvider
  readonly voices: VoiceBook
  /** Finds the files and voices that callers name. */
  readonly lookUps: LookUps
  readonly markerSecret: string
  readonly crashPoint: CrashPoint
}

/** The files and the voice of a clone. */
interface FoundClone {
  readonly file: OwnUpload
  readonly prompt: OwnUpload | undefined
  readonly upstreamVoiceId: string
}

/** Hexadecimal digits of a name upstream: too many to guess, or to collide by chance. */
const NAME_DIGITS = 40

/**
 * Looks up the files and the voice of a clone. The name upstream of a new voice is unique to this
 * request: a clone that is requested again after an unknown outcome gets another name, so the
 * earlier attempt cannot conflict with it. A voice that exists already keeps its name; upstream
 * knows whether it still has it.
 *
 * @throws DomainError `invalid_request` naming a file, `voice_exists`, `model_not_allowed`
 */
async function findClone(
  deps: CloneDeps,
  { principal, request, requestId }: PricingInput<CloneInput>,
): Promise<FoundClone> {
  const { voices, markerSecret, lookUps: log, clock } = deps
  const { tenantId, models } = principal
  const { fileId, promptFileId, audition, voiceId } = request
  if (audition !== undefined && models !== undefined && !models.has(audition.model))
    throw new DomainError('model_not_allowed', `this token may not use ${audition.model}`, {
      model: audition.model,
    })
  const named = { param: 'file_id', purpose: 'voice_clone' } as const
  const file = await namedUpload({ log, clock }, { principal, fileId }, named)
  const prompt =
    promptFileId === undefined
      ? undefined
      : await namedUpload(
          { log, clock },
          { principal, fileId: promptFileId },
          { param: 'clone_prompt.prompt_audio', purpose: 'prompt_audio' },
        )
  if (prompt !== undefined && prompt.channelId !== file.channelId)
    throw keptApart('clone_prompt.prompt_audio')
  const known = await voices.find(tenantId, voiceId)
  if (known !== undefined && known.channelId !== file.channelId) throw voiceExists()
  const hash = keyedHash(markerSecret, 'voice', [tenantId, voiceId, requestId]).toString('hex')
  const upstreamVoiceId = known?.upstreamVoiceId ?? `v${hash.slice(0, NAME_DIGITS)}`
  return { file, prompt, upstreamVoiceId }
}

/** A clone on its way. */
interface CloneCall extends CloneInput {
  /** Set once they were looked up. */
  readonly found?: FoundClone
}

function foundOf({ found }: Pick<CloneCall, 'found'>): FoundClone {
  invariant(found, 'a clone is judged once its files were looked up')
  return found
}

/** Clones as calls: the voice is recorded before its call is settled. */
type CloneFamily = CallFamily<CloneCall, CloneRequest, CloneSeen, Cloned>

function createCloneFamily(deps: CloneDeps): CloneFamily {
  return {
    ready: async (asked) => ({ ...asked, found: await findClone(deps, asked) }),
    resolve: (input, serving) => {
      const { family, model, request } = input
      const { audition } = request
      const { channelId } = foundOf(input).file
      const place = serving.find(({ id }) => id === channelId)
      if (audition !== undefined && place !== undefined && !place.models[audition.model])
        throw new DomainError(
          'unknown_model',
          `${audition.model} is not available where the file is kept`,
          {
            model: audition.model,
          },
        )
      return {
        request,
        channelQuery: { family, model, channelId },
        // Limits per minute count tokens of text.
        expectedTokens: () => 0,
        price: (book) => priceClone(audition, book),
      }
    },
    ask: async (input, channel, _request, options) => {
      const answer = await deps.clones.clone(channel, orderAt(input, channel), options)
      const { upstreamRequestId, restMs, characters } = answer
      const body = async (): Promise<Cloned> => {
        await recordVoice(deps, input)
        deps.crashPoint('voice.after-cloned')
        return clonedOf(answer)
      }
      return { body, upstreamRequestId, restMs, seen: { characters }, failed: undefined }
    },
    refusal: refusalOf,
  }
}

/** The request to the channel, in the channel's own names. */
function orderAt(input: CloneCall, channel: Channel): CloneOrder {
  const { audition, promptText, settings } = input.request
  const { file, prompt, upstreamVoiceId } = foundOf(input)
  return {
    upstreamVoiceId,
    upstreamFileId: file.upstreamFileId,
    promptUpstreamFileId: prompt?.upstreamFileId,
    promptText,
    audition: audition && {
      upstreamModel: channel.models[audition.model] ?? audition.model,
      text: audition.text,
    },
    settings,
  }
}

function clonedOf({ inputSensitive, demoAudio, characters }: CloneAnswer): Cloned {
  return { inputSensitive, demoAudio, characters }
}

async function recordVoice({ log, lookUps, clock }: CloneDeps, input: CloneCall): Promise<void> {
  const { principal, requestId, request } = input
  const { file, upstreamVoiceId } = foundOf(input)
  const { tenantId, userId, tokenId } = principal
  const voice = {
    voiceId: request.voiceId,
    tenantId,
    userId,
    tokenId,
    requestId,
    channelId: file.channelId,
    upstreamVoiceId,
    sourceFileId: file.fileId,
    clonedAt: toTimestamp(clock.nowMs()),
  }
  const stream = voiceStream(voice)
  await executeCommand({
    log,
    stream,
    decider: voiceDecider,
    command: { kind: 'clone', voice },
    commandId: requestId,
    metadata: { correlationId: requestId, tenantId, tokenId },
  })
  lookUps.begun(stream)
}

/** Synchronous speech and clones, for the routes of the family. */
export interface SpeechCalls {
  readonly speech: SpeechCallFamily
  readonly clones: CloneFamily
  /** Resolves the name of a voice for a caller. */
  readonly resolveVoice: ResolveVoice
}

export function openSpeech({
  provider,
  ...deps
}: Omit<CloneDeps, 'voices' | 'lookUps'> & { readonly provider: SpeechProvider }): SpeechCalls {
  const lookUps = createLookUps(deps.log)
  const voices = createVoiceBook(lookUps)
  return {
    speech: createSpeechFamily(provider),
    clones: createCloneFamily({ ...deps, voices, lookUps }),
    resolveVoice: createResolveVoice(voices.find),
  }
}
