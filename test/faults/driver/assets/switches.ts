import type { Dice } from '../random.ts'

/** How uploads and verifications go, and how they can go wrong; well, mostly. */

/** What an upload's address tells the simulated library; `focus` is the crash point the gateway waits for. */
export function uploadSwitches(dice: Dice, focus: string): readonly string[] {
  const isToBeFound = focus === 'asset.before-adopt' && dice.chance(0.5)
  const fault = isToBeFound ? ['drop-after-accept'] : faultOf(dice)
  return [...fault, `running-ms=${dice.pick([0, 100, 400, 1_500])}`]
}

function faultOf(dice: Dice): readonly string[] {
  return dice.weighted<readonly string[]>([
    [60, []],
    [6, ['drop-after-accept']],
    [2, ['hang-after-accept']],
    [2, ['http-after-accept=500']],
    [1, ['http-after-accept=504']],
    [2, ['drop-before-accept']],
    [1, ['hang']],
    [1, ['http=500']],
    [1, ['http=503']],
    [1, ['http=429']],
    [3, ['refuse=InvalidParameter.DownloadFailed']],
    [2, ['malformed']],
    [1, ['truncated']],
    [1, ['garbage']],
    [1, ['bad-http']],
    [2, ['first-byte-ms=500']],
    [6, ['fail=ContentModerated']],
    [2, ['expire']],
    [2, ['status=Reviewing']],
    [1, ['stall']],
    [1, ['gone']],
  ])
}

/** What a verification's callback address tells it. */
export function sessionSwitches(dice: Dice): readonly string[] {
  return dice.weighted<readonly string[]>([
    [60, []],
    [6, ['running-ms=400']],
    [3, ['fail=FaceMismatch']],
    [2, ['stall']],
    [1, ['expire']],
    [4, ['drop-after-accept']],
    [2, ['http=503']],
    [2, ['http-after-accept=500']],
    [1, ['malformed']],
    [1, ['hang']],
  ])
}

/** Whether a person who passes at the page is verified by it, sooner or later. */
export function mayPass(switches: readonly string[]): boolean {
  return !switches.some((word) => /^(?:fail=|stall$|expire$)/.test(word))
}
