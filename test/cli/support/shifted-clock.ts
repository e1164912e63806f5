/** Options of Node by which a process, and each that it starts, has a clock that is ahead of the machine's. */
export function shiftedClock(aheadMs: number): string {
  const source = `
    const Machine = Date
    globalThis.Date = new Proxy(Machine, {
      construct: (_, args, of) =>
        Reflect.construct(Machine, args.length === 0 ? [Machine.now() + ${aheadMs}] : args, of),
      get: (machine, name) =>
        name === "now" ? () => machine.now() + ${aheadMs} : Reflect.get(machine, name),
    })`
  return `--import=data:text/javascript,${encodeURIComponent(source)}`
}
