import t from 'tap'
import { readZone } from '../../src/kernel/read-zone.ts'

const faultOf = (name: string): string | undefined => {
  const read = readZone(name)
  return 'fault' in read ? read.fault : undefined
}

t.test('a zone is UTC or a name of the IANA database with a slash', async (t) => {
  for (const name of ['UTC', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Etc/GMT-14'])
    t.equal(faultOf(name), undefined, name)
  for (const name of Intl.supportedValuesOf('timeZone').filter((one) => one.includes('/')))
    t.equal(faultOf(name), undefined, name)
})

t.test('another name is refused with the probable zone', async (t) => {
  for (const [name, meant] of [
    ['CST', 'America/Chicago` or `Asia/Shanghai'],
    ['BST', 'Europe/London'],
    ['bst', 'Europe/London'],
    ['EST', 'America/New_York'],
    ['GMT', 'UTC'],
    ['utc', 'UTC'],
    ['Z', 'UTC'],
    ['Japan', 'Asia/Tokyo'],
    ['Berlin', 'Europe/Berlin'],
    ['new york', 'America/New_York'],
    ['Europe/Berln', 'Europe/Berlin'],
  ] as const)
    t.match(faultOf(name), `did you mean \`${meant}\`?`, name)
  for (const name of ['', '+05:30', 'Mars', 'Mars/Olympus', '/', 'a/../b', 'toString', '\0/\0'])
    t.match(faultOf(name), /^must be UTC or a zone [^`]*$/, name)
})
