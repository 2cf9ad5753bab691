export { VirtualClock as FakeClock } from '../../src/sim/core/virtual-clock.js';
