import type { Dice } from './random.ts'
import type { Priced } from './prices.ts'

/** Creations that differ in all that matters to money and to the ways they can go wrong. */

export interface Creation {
  readonly marker: string
  readonly priced: Priced
  readonly safetyIdentifier: string | undefined
  readonly switches: readonly string[]
  readonly body: Readonly<Record<string, unknown>>
}

/** Models with the name callers may use instead. */
const models: readonly (readonly [name: string, alias: string])[] = [
  ['domestic-video-2-0', 'domestic-video-2-0-260128'],
  ['domestic-video-2-0-fast', 'domestic-video-2-0-fast-260128'],
  ['domestic-video-2-0-mini', 'domestic-video-2-0-mini-260615'],
  ['domestic-video-2-5', 'domestic-video-2-5-260628'],
  ['overseas-video-2-0', 'overseas-video-2-0-260128'],
  ['overseas-video-2-0-fast', 'overseas-video-2-0-fast-260128'],
  ['overseas-video-2-0-mini', 'overseas-video-2-0-mini-260615'],
  ['overseas-video-2-0-filter-off', 'overseas-video-2-0-filter-off'],
  ['overseas-video-2-5', 'overseas-video-2-5-260628'],
]

/** End users of a caller that names them: few, so that requests of one meet. */
const endUsers = ['u-1f0c', 'u-2b9d', 'u-77aa']

/** What a life waits for more often than chance would have it. */
function switchesFor(dice: Dice, focus: string | undefined): readonly string[] {
  if (focus === 'create.before-refused' && dice.chance(0.5))
    return ['refuse=InputTextSensitiveContentDetected']
  if (/^(?:reconcile|create\.before-uncertain)/.test(focus ?? '') && dice.chance(0.3))
    return ['drop-after-accept']
  return switchesOf(dice)
}

/** What goes wrong between the gateway and upstream, or after acceptance; nothing, mostly. */
function switchesOf(dice: Dice): readonly string[] {
  return dice.weighted<readonly string[]>([
    [60, []],
    [6, ['drop-after-accept']],
    [2, ['hang-after-accept']],
    [2, ['http-after-accept=500']],
    [2, ['http-after-accept=504']],
    [1, ['http=500']],
    [1, ['http=503']],
    [2, ['http=429']],
    [3, ['refuse=InputTextSensitiveContentDetected']],
    [1, ['refuse=ModelNotOpen']],
    [1, ['drop-before-accept']],
    [2, ['malformed']],
    [2, ['truncated']],
    [1, ['garbage']],
    [1, ['bad-http']],
    [3, ['first-byte-ms=700']],
    [4, ['fail=OutputVideoSensitiveContentDetected']],
    [2, ['expire']],
    [3, ['status=rendering_preview']],
    [1, ['usage-missing']],
    [2, ['usage-changes']],
    [1, ['stall']],
    [1, ['stall-queued']],
    [1, ['gone']],
    [2, ['tokens=0']],
  ])
}

/** Rendering lasts long enough that no deletion can be under way from its queue to its end. */
function timesOf(dice: Dice): readonly string[] {
  const queuedMs = dice.pick([0, 150, 600, 1_500, 2_500])
  return [`queued-ms=${queuedMs}`, `running-ms=${dice.integer(1_200, 2_200)}`]
}

/** A creation nobody else makes; `focus` is the crash point the gateway waits for. */
export function newCreation(dice: Dice, marker: string, focus: string | undefined): Creation {
  const [model, alias] = dice.pick(models)
  const small = /fast|mini|2-5/.test(model)
  const resolution = dice.weighted<string | undefined>([
    [2, undefined],
    [3, '480p'],
    [4, '720p'],
    ...(small
      ? []
      : ([
          [1, '1080p'],
          [1, '4k'],
        ] as const)),
  ])
  const hasVideo = dice.chance(0.25)
  const fault = switchesFor(dice, focus)
  const tokens = fault.includes('tokens=0') ? [] : [`tokens=${dice.integer(1, 60_000)}`]
  const switches = [...fault, ...timesOf(dice), ...(dice.chance(0.8) ? tokens : [])]
  const safetyIdentifier = dice.chance(0.35) ? dice.pick(endUsers) : undefined
  const text = `a paper boat [[client=${marker}]] [[sandbox ${switches.join(' ')}]]`
  const video = {
    type: 'video_url',
    role: 'reference_video',
    video_url: { url: 'https://media.example.com/reference.mp4' },
  }
  return {
    marker,
    priced: { model, resolution, hasVideo },
    safetyIdentifier,
    switches,
    body: {
      model: dice.chance(0.3) ? alias : model,
      content: [{ type: 'text', text }, ...(hasVideo ? [video] : [])],
      duration: dice.integer(4, 8),
      ...(resolution === undefined ? {} : { resolution }),
      ...(safetyIdentifier === undefined ? {} : { safety_identifier: safetyIdentifier }),
      ...(dice.chance(0.2) ? { execution_expires_after: 3_600 } : {}),
    },
  }
}

/** Two that upstream never accepts and says nothing of: one with the gateway's marker, one without. */
export function lostCreations(): readonly Creation[] {
  const model = 'domestic-video-2-0'
  return [undefined, 'u-lost'].map((safetyIdentifier, index) => {
    const marker = `lost-${index}`
    const switches = ['drop-before-accept']
    const text = `a paper boat [[client=${marker}]] [[sandbox ${switches.join(' ')}]]`
    return {
      marker,
      priced: { model, resolution: '720p', hasVideo: false },
      safetyIdentifier,
      switches,
      body: {
        model,
        content: [{ type: 'text', text }],
        duration: 5,
        resolution: '720p',
        ...(safetyIdentifier === undefined ? {} : { safety_identifier: safetyIdentifier }),
      },
    }
  })
}
