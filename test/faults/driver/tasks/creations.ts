import type { SeenAsset } from '../assets/witness.ts'
import type { Dice } from '../random.ts'
import type { Draft, FamilyName, TaskFamily } from './family.ts'
import { taskFamily } from './registry.ts'

/** Creations that differ in all that matters to money and to the ways they can go wrong. */

export interface Creation extends Draft {
  /** Names it in the prompt, so that upstream's record can be told from the others. */
  readonly marker: string
  readonly family: FamilyName
  readonly switches: readonly string[]
  /** One of its caller's that it uses. */
  readonly asset?: SeenAsset | undefined
}

/** What a life waits for more often than chance would have it. */
function switchesFor(dice: Dice, family: TaskFamily, focus: string | undefined): readonly string[] {
  if (focus === 'create.before-refused' && dice.chance(0.5)) return [`refuse=${family.refusals[0]}`]
  if (/^(?:reconcile|create\.before-uncertain)/.test(focus ?? '') && dice.chance(0.3))
    return ['drop-after-accept']
  return switchesOf(dice, family)
}

/** What goes wrong between the gateway and upstream, or after acceptance; nothing, mostly. */
function switchesOf(
  dice: Dice,
  { refusals: [input, account], failure, further }: TaskFamily,
): readonly string[] {
  return dice.weighted<readonly string[]>([
    [60, []],
    [6, ['drop-after-accept']],
    [2, ['hang-after-accept']],
    [2, ['http-after-accept=500']],
    [2, ['http-after-accept=504']],
    [1, ['http=500']],
    [1, ['http=503']],
    [2, ['http=429']],
    [3, [`refuse=${input}`]],
    [1, [`refuse=${account}`]],
    [1, ['drop-before-accept']],
    [2, ['malformed']],
    [2, ['truncated']],
    [1, ['garbage']],
    [1, ['bad-http']],
    [3, ['first-byte-ms=700']],
    [4, [`fail=${failure}`]],
    [2, ['expire']],
    [3, ['status=rendering_preview']],
    [1, ['usage-missing']],
    [2, ['usage-changes']],
    [1, ['stall']],
    [1, ['stall-queued']],
    [1, ['gone']],
    [2, ['tokens=0']],
    ...further,
  ])
}

/** Rendering lasts long enough that no deletion can be under way from its queue to its end. */
function timesOf(dice: Dice): readonly string[] {
  const queuedMs = dice.pick([0, 150, 600, 1_500, 2_500])
  return [`queued-ms=${queuedMs}`, `running-ms=${dice.integer(1_200, 2_200)}`]
}

/**
 * Usage that a success may report: with what `usage-changes` adds later it is not more than four times the
 * smallest hold of a draft, above which it is not believed.
 */
const MOST_REPORTED: Readonly<Record<FamilyName, number>> = {
  'video-a': 60_000,
  // Four seconds, and two more.
  'video-b': 14,
  // One second off peak holds 6 credits, and ten more.
  'video-c': 14,
  speech: 150,
}

function familyFor(dice: Dice, focus: string | undefined): FamilyName {
  // The one whose callers can delete what has ended, and cancel what has not begun.
  if (focus?.startsWith('delete.') === true && dice.chance(0.7)) return 'video-a'
  return dice.weighted<FamilyName>([
    [4, 'video-a'],
    [3, 'video-b'],
    [3, 'video-c'],
    [3, 'speech'],
  ])
}

/**
 * A creation nobody else makes; `focus` is the crash point the gateway waits for, `assets` what its caller
 * keeps, or kept until lately.
 */
export function newCreation(
  dice: Dice,
  marker: string,
  focus: string | undefined,
  assets: readonly SeenAsset[],
): Creation {
  const family = taskFamily(familyFor(dice, focus))
  const fault = switchesFor(dice, family, focus)
  const isCounted = fault.some((word) => /^(?:tokens=0|total-missing|zero-usage)$/.test(word))
  const most = MOST_REPORTED[family.name]
  const tokens = !isCounted && dice.chance(0.8) ? [`tokens=${dice.integer(1, most)}`] : []
  const switches = [...fault, ...timesOf(dice), ...tokens]
  const draft = family.draft(dice, prompt(marker, switches))
  const using = family.name === 'video-a' ? withAsset(dice, draft, assets) : draft
  return { marker, family: family.name, switches, ...using }
}

/**
 * Some that upstream never accepts and says nothing of: one that is marked by its caller, and of each
 * family one that is not, whether lists show that or not.
 */
export function lostCreations(dice: Dice): readonly Creation[] {
  const switches = ['drop-before-accept']
  const lost = (name: FamilyName, isOurs: boolean, marker: string): Creation => {
    const family = taskFamily(name)
    for (;;) {
      const draft = family.draft(dice, prompt(marker, switches))
      if ((draft.callerMarker === undefined) === isOurs)
        return { marker, family: name, switches, ...draft }
    }
  }
  return [
    lost('video-a', true, 'lost-0'),
    lost('video-a', false, 'lost-1'),
    lost('video-b', true, 'lost-2'),
    lost('video-c', true, 'lost-3'),
    lost('speech', true, 'lost-4'),
  ]
}

/** One that nothing goes wrong with, of the model of another creation and marked by us, so that its account shows it. */
export function soundCreation(dice: Dice, like: Creation, marker: string): Creation {
  const family = taskFamily(like.family)
  for (;;) {
    const draft = family.draft(dice, prompt(marker, []))
    if (draft.callerMarker === undefined && draft.body['model'] === like.body['model'])
      return { marker, family: like.family, switches: [], ...draft }
  }
}

function prompt(marker: string, switches: readonly string[]): string {
  return `a paper boat [[client=${marker}]] [[sandbox ${switches.join(' ')}]]`
}

/** Creations of `/provA` that use what the library keeps. */

/** Of those that could. */
const SHARE = 0.4

/** How a reference of each kind stands in `content`; sound alone makes no video. */
const kinds = { Image: 'image', Video: 'video', Audio: undefined } as const

/** A draft with an asset of its model's region among what it refers to, or as it was. */
function withAsset(
  dice: Dice,
  draft: Draft,
  assets: readonly SeenAsset[],
): Draft & { readonly asset?: SeenAsset } {
  const { priced, body } = draft
  const fitting = assets.filter(
    ({ group, assetType }) =>
      priced.model.startsWith(group.region) && kinds[assetType] !== undefined,
  )
  if (fitting.length === 0 || !dice.chance(SHARE)) return draft
  const asset = dice.pick(fitting)
  const kind = kinds[asset.assetType] ?? 'image'
  const reference = {
    type: `${kind}_url`,
    role: `reference_${kind}`,
    [`${kind}_url`]: { url: `asset://${asset.id}` },
  }
  const content = body['content'] as readonly unknown[]
  return {
    ...draft,
    asset,
    priced: { ...priced, hasVideo: priced.hasVideo || kind === 'video' },
    body: { ...body, content: [...content, reference] },
  }
}
