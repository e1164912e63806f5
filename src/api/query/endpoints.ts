/** Where what a surface names in the ledger is asked for. */
const endpoints: Readonly<Record<string, string>> = {
  'v1.chat': '/v1/chat/completions',
  'v1.responses': '/v1/responses',
  'v1.videos': '/v1/videos',
  'v1.images.generations': '/v1/images/generations',
  'v1.images.edits': '/v1/images/edits',
  'v1.images.generations.async': '/v1/images/generations/async',
  'v1.images.edits.async': '/v1/images/edits/async',
  'v1beta.generate': '/v1beta/models/{model}:generateContent',
  'provA.tasks': '/provA/api/v3/contents/generations/tasks',
  'provB.video': '/provB/v2/video_generation',
  'provB.speech': '/provB/v1/t2a_v2',
  'provB.speech.async': '/provB/v1/t2a_async_v2',
  'provB.voice-clone': '/provB/v1/voice_clone',
  'provC.text2video': '/provC/ent/v2/text2video',
  'provC.img2video': '/provC/ent/v2/img2video',
  'provC.start-end2video': '/provC/ent/v2/start-end2video',
  'provC.reference2video': '/provC/ent/v2/reference2video',
}

/** What the ledger calls each surface. */
export const surfaceNames: readonly string[] = Object.keys(endpoints)

/** The path of a surface; of one that is not listed, its name as it stands. */
export function endpointOf(surface: string): string {
  return endpoints[surface] ?? surface
}
