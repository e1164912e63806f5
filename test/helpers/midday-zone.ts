/**
 * A time zone where it is about noon, so that neither a day nor a month ends while a test runs. Its name is one of the
 * tz database, which a query has to encode after noon: `Etc/GMT-5` is five hours ahead of UTC, `Etc/GMT+5` behind it.
 */
export function middayZone(nowMs = Date.now()): string {
  const aheadH = 12 - new Date(nowMs).getUTCHours()
  return `Etc/GMT${aheadH > 0 ? '-' : '+'}${Math.abs(aheadH)}`
}
