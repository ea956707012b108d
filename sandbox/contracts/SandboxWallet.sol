// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A smart wallet of one owner, for the sandbox.
/// @notice It accepts what its owner's key has signed (ERC-1271), and does what its owner tells it. The digest
/// of an EIP-3009 authorization names the payer, so that one signature serves one wallet; a wallet that
/// signs anything else has to put its own address into what is signed.
contract SandboxWallet {
    bytes4 private constant ACCEPTED = 0x1626ba7e;
    bytes4 private constant REFUSED = 0xffffffff;
    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    /// @notice ERC-1271: 65 bytes of r, s and v.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return REFUSED;
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) return REFUSED;
        address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), s);
        return signer != address(0) && signer == owner ? ACCEPTED : REFUSED;
    }

    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == owner, "SandboxWallet: not the owner");
        (bool ok, bytes memory answer) = target.call{value: value}(data);
        require(ok, "SandboxWallet: the call failed");
        return answer;
    }
}

/// @title Makes wallets at addresses that are known before (CREATE2).
contract SandboxWalletFactory {
    /// @notice Makes the wallet, or finds it: whoever calls first changes nothing.
    function createAccount(address owner, uint256 salt) external returns (address wallet) {
        wallet = addressOf(owner, salt);
        if (wallet.code.length == 0) new SandboxWallet{salt: bytes32(salt)}(owner);
    }

    /// @notice Where the wallet is, or will be.
    function addressOf(address owner, uint256 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(SandboxWallet).creationCode, abi.encode(owner)));
        bytes32 place = keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(salt), code));
        return address(uint160(uint256(place)));
    }
}
