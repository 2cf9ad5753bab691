// CommonJS packages that require @nestjs/common would otherwise be refused as a cycle while it is still loading.
import '@nestjs/common';
