import type { Surface } from '../api/kit/surface.ts'
import { librarySurface } from './video-a/library/routes.ts'
import { provASurface } from './video-a/surface/routes.ts'
import { provBV1Surface } from './speech/surface/routes.ts'
import { provBV2Surface } from './video-b/surface/routes.ts'
import { provCSurface } from './video-c/surface/routes.ts'
import { realPersonSurface } from './video-a/library/person-page.ts'
import { chatSurface } from './chat/surface/routes.ts'
import { responsesSurface } from './responses/surface/routes.ts'
import { v1betaSurface } from './native/surface/routes.ts'
import { artBFamily } from './art-b/rules/rules.ts'
import { createCatalog, type FamilyRules } from '../domain/families/catalog.ts'
import { genFamily } from './gen/rules/rules.ts'
import { imageFamily } from './image/rules/rules.ts'
import { VOICE_CLONE } from '../domain/families/speech/models.ts'
import { SPEECH, speechCallRules, speechTaskRules } from '../domain/families/speech/rules.ts'
import { textRules } from '../domain/families/text/rules.ts'
import { videoARules } from './video-a/rules/rules.ts'
import { videoBRules } from './video-b/rules/rules.ts'
import { videoCRules } from './video-c/rules/rules.ts'

const MIB = 1024 * 1024
const ofVoices = { model: VOICE_CLONE, maxBytes: 20 * MIB }

/** Every provider family. One that is offered no more stays: its events need its rules. */
export const families: readonly FamilyRules[] = [
  { name: videoARules.family, tasks: videoARules },
  {
    name: videoBRules.family,
    tasks: videoBRules,
    uploads: { video_generation_input: { maxBytes: 50 * MIB } },
  },
  { name: videoCRules.family, tasks: videoCRules },
  {
    name: SPEECH,
    tasks: speechTaskRules,
    calls: speechCallRules,
    uploads: { voice_clone: ofVoices, prompt_audio: ofVoices },
    endpoints: (model) =>
      model === VOICE_CLONE
        ? ['/provB/v1/voice_clone']
        : ['/provB/v1/t2a_v2', '/provB/v1/t2a_async_v2'],
  },
  { name: imageFamily.name, images: imageFamily },
  { name: genFamily.name, images: genFamily },
  { name: artBFamily.name, images: artBFamily },
  { name: 'chat', calls: textRules, endpoints: () => ['/v1/chat/completions'] },
  { name: 'responses', calls: textRules, endpoints: () => ['/v1/responses'] },
  {
    name: 'native',
    calls: textRules,
    endpoints: () => ['/v1beta/models/{model}:generateContent'],
  },
]

/** What asks for families by what they are, and knows none by name, is handed this. */
export const catalog = createCatalog(families)

export const surfaces: readonly Surface[] = [
  provASurface,
  librarySurface,
  realPersonSurface,
  provBV2Surface,
  provCSurface,
  provBV1Surface,
  chatSurface,
  responsesSurface,
  v1betaSurface,
]
